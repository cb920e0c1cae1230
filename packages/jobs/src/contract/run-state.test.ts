import { describe, expect, it } from 'vitest';

import {
  END_CODES,
  EXECUTION_OUTCOMES,
  isTerminal,
  RUN_STATES,
  shownStatus,
  TERMINAL_STATES,
  TRANSITIONS,
} from './run-state.ts';

describe('TRANSITIONS', () => {
  it('has a row for every state and names only states', () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...RUN_STATES].sort());
    for (const targets of Object.values(TRANSITIONS)) {
      expect(RUN_STATES).toEqual(expect.arrayContaining([...targets]));
    }
  });

  it('never leads from a state to itself', () => {
    for (const state of RUN_STATES) expect(TRANSITIONS[state]).not.toContain(state);
  });

  it('reaches every state from queued', () => {
    const reached = new Set<string>(['queued']);
    for (const state of reached) {
      for (const next of TRANSITIONS[state as keyof typeof TRANSITIONS]) reached.add(next);
    }
    expect([...reached].sort()).toEqual([...RUN_STATES].sort());
  });

  it('leaves a terminal state only by a retry, and succeeded never', () => {
    expect(TERMINAL_STATES.map((state) => TRANSITIONS[state])).toEqual([
      [],
      ['queued'],
      ['queued'],
    ]);
  });

  it('starts to run only what waits', () => {
    const sources = RUN_STATES.filter((state) =>
      (TRANSITIONS[state] as readonly string[]).includes('running'),
    );
    expect(sources).toEqual(['queued', 'retrying']);
  });
});

describe('isTerminal', () => {
  it.each(RUN_STATES)('knows whether %s is over', (state) => {
    expect(isTerminal(state)).toBe(['succeeded', 'failed', 'cancelled'].includes(state));
  });
});

describe('shownStatus', () => {
  const now = new Date('2030-01-01T00:00:00Z');
  const before = new Date(now.getTime() - 1);
  const later = new Date(now.getTime() + 1);

  it.each(RUN_STATES)('shows %s as it is when its time has come', (state) => {
    expect(shownStatus(state, before, now)).toBe(state);
    expect(shownStatus(state, now, now)).toBe(state);
  });

  it.each(RUN_STATES)('shows %s as scheduled only while it waits for its first time', (state) => {
    expect(shownStatus(state, later, now)).toBe(state === 'queued' ? 'scheduled' : state);
  });
});

describe('END_CODES', () => {
  it('has a sentence for every code', () => {
    for (const text of Object.values(END_CODES)) expect(text).toMatch(/^[A-Z].*\.$/);
  });

  it('shares its names with the outcomes only where both mean the same', () => {
    const shared = EXECUTION_OUTCOMES.filter((outcome) => outcome in END_CODES);
    expect(shared).toEqual(['timed_out', 'cancelled']);
  });
});
