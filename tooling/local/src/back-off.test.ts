import { describe, expect, it } from 'vitest';

import { BackOff } from './back-off.ts';

describe('BackOff', () => {
  it('waits longer each time, up to half a minute', () => {
    const backOff = new BackOff();
    const delays = [1, 2, 3, 4, 5, 6, 7].map(() => backOff.delayMs(10));
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('begins anew after a program that ran for long', () => {
    const backOff = new BackOff();
    backOff.delayMs(10);
    expect(backOff.delayMs(60_000)).toBe(1000);
  });
});
