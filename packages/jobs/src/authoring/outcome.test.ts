import { describe, expect, it } from 'vitest';

import { cancel, CancelOutcome, fatal, FatalOutcome, snooze, SnoozeOutcome } from './outcome.ts';

describe('fatal', () => {
  it('is an error with its cause', () => {
    const cause = new Error('why');
    const outcome = fatal('no use', { cause });
    expect(outcome).toBeInstanceOf(FatalOutcome);
    expect(outcome).toMatchObject({ name: 'FatalOutcome', message: 'no use', cause });
  });
});

describe('snooze', () => {
  it.each([
    [0, 0],
    [1_500.4, 1_500],
    [315_360_000_000, 315_360_000_000],
  ])('waits for %d ms', (delayMs, rounded) => {
    expect(snooze(delayMs)).toBeInstanceOf(SnoozeOutcome);
    expect(snooze(delayMs).delayMs).toBe(rounded);
  });

  it.each([-1, NaN, Infinity, Number.MAX_VALUE, 315_360_000_001])('refuses %d ms', (delayMs) => {
    expect(() => snooze(delayMs)).toThrow(TypeError);
  });
});

describe('cancel', () => {
  it('is an error with its reason', () => {
    expect(cancel('nothing to do')).toBeInstanceOf(CancelOutcome);
    expect(cancel('nothing to do').message).toBe('nothing to do');
  });
});
