import { describe, expect, it } from 'vitest';

import { formatDuration, formatInstant, formatRelative } from './format-time.ts';

describe('formatDuration', () => {
  it.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [9_949, '9.9 s'],
    [9_950, '10 s'],
    [59_499, '59 s'],
    [59_500, '1 min 00 s'],
    [185_000, '3 min 05 s'],
    [3_599_499, '59 min 59 s'],
    [3_600_000, '1 h 00 min'],
    [86_399_000, '23 h 59 min'],
    [187_200_000, '2 d 04 h'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('formatRelative', () => {
  const now = new Date('2030-01-31T02:00:00Z');

  it.each([
    [0, 'just now'],
    [-999, 'just now'],
    [-1_000, '1 s ago'],
    [-59_999, '59 s ago'],
    [-60_000, '1 min ago'],
    [-3_600_000, '1 h ago'],
    [-86_400_000, '1 d ago'],
    [1, 'in 1 s'],
    [1_999, 'in 1 s'],
    [300_000, 'in 5 min'],
    [90_000_000, 'in 1 d'],
  ])('writes an instant %d ms from now as %s', (ms, text) => {
    expect(formatRelative(new Date(now.getTime() + ms), now)).toBe(text);
  });
});

describe('formatInstant', () => {
  it('writes the instant in full with its zone', () => {
    expect(formatInstant(new Date('2030-01-31T02:00:00.12Z'))).toBe('2030-01-31 02:00:00.120 UTC');
  });
});
