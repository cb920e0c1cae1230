import { describe, expect, it } from 'vitest';

import { decideSlots } from './decide-slots.ts';

const now = new Date('2030-01-01T12:00:30Z');
/** Slots at whole minutes before noon, the oldest first. */
const minutes = (...before: number[]) =>
  before.map((count) => new Date(Date.parse('2030-01-01T12:00:00Z') - count * 60_000));
const decide = (
  before: number[],
  missed: 'skip' | 'once' | number,
  { enabled = true, later = 0 } = {},
) =>
  decideSlots(minutes(...before), { now, enabled, missed, later }).map(({ skip }) => skip ?? 'run');

describe('decideSlots', () => {
  it.each([
    ['one in time', [0], 'once', ['run']],
    ['one a minute and a half late', [1], 'skip', ['missed']],
    ['one a minute and a half late', [1], 'once', ['run']],
    ['three missed', [3, 2, 1], 'skip', ['missed', 'missed', 'missed']],
    ['three missed', [3, 2, 1], 'once', ['missed', 'missed', 'run']],
    ['three missed', [3, 2, 1], 2, ['missed', 'run', 'run']],
    ['three missed', [3, 2, 1], 9, ['run', 'run', 'run']],
    ['two missed and one in time', [2, 1, 0], 'once', ['missed', 'missed', 'run']],
    ['two missed and one in time', [2, 1, 0], 1, ['missed', 'run', 'run']],
    ['two missed and one in time', [2, 1, 0], 'skip', ['missed', 'missed', 'run']],
    ['none', [], 'once', []],
  ] as const)('of %s (%j) lets the policy %j decide', (_what, before, missed, expected) => {
    expect(decide([...before], missed)).toEqual(expected);
  });

  it('runs nothing of a disabled definition', () => {
    expect(decide([2, 1, 0], 9, { enabled: false })).toEqual(['disabled', 'disabled', 'disabled']);
  });

  it('leaves to later slots what the policy allows', () => {
    expect(decide([9, 8], 'once', { later: 4 })).toEqual(['missed', 'missed']);
    expect(decide([9, 8], 5, { later: 4 })).toEqual(['missed', 'run']);
    expect(decide([9, 8], 3, { later: 4 })).toEqual(['missed', 'missed']);
  });
});
