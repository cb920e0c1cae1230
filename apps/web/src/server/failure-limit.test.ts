import { describe, expect, it } from 'vitest';

import { FailureLimit } from './failure-limit.ts';

const limit = () => new FailureLimit({ perAddress: 2, total: 3, windowMs: 1_000 });

describe('FailureLimit', () => {
  it('admits so many failures of one address', () => {
    const failures = limit();
    expect([1, 2, 3].map(() => failures.admit('a', 0))).toEqual([true, true, false]);
  });

  it('counts each address for itself', () => {
    const failures = limit();
    failures.admit('a', 0);
    failures.admit('a', 0);
    expect(failures.admit('b', 0)).toBe(true);
  });

  it('refuses everyone beyond the total', () => {
    const failures = limit();
    for (const address of ['a', 'b', 'c']) expect(failures.admit(address, 0)).toBe(true);
    expect(failures.admit('d', 0)).toBe(false);
  });

  it('begins anew with the next window', () => {
    const failures = limit();
    for (let n = 0; n < 5; n++) failures.admit('a', 5_000);
    expect(failures.admit('a', 5_999)).toBe(false);
    expect(failures.admit('a', 6_000)).toBe(true);
  });
});
