import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Duration, durationMs } from './duration.ts';

describe('durationMs', () => {
  it.each([
    ['0ms', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['0.5h', 1_800_000],
    ['1.4ms', 1],
  ] as const)('reads %s', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it.each([
    '',
    '5',
    's',
    '5 s',
    '-5s',
    '+5s',
    '5S',
    '5d',
    '1e3s',
    '.5s',
    '5.s',
    '5s ',
    '5s\n',
    'Infinitys',
  ])('refuses %j and names it', (text) => {
    expect(() => durationMs(text as Duration)).toThrow(TypeError);
    expect(() => durationMs(text as Duration)).toThrow(`"${text}" is not a duration`);
  });

  it('reads every whole number of every unit', () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
    fc.assert(
      fc.property(
        fc.nat(1_000_000),
        fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
        (count, unit) => durationMs(`${count}${unit}`) === count * units[unit],
      ),
    );
  });
});
