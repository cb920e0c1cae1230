import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { retryDelayMs } from './retry-policy.ts';

const policies = fc
  .record({
    firstDelayMs: fc.integer({ min: 1, max: 2_147_483_647 }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    maxDelayMs: fc.integer({ min: 1, max: 2_147_483_647 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .filter(({ firstDelayMs, maxDelayMs }) => firstDelayMs <= maxDelayMs);
const attempts = fc.integer({ min: 1, max: 100 });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('retryDelayMs', () => {
  const policy = { firstDelayMs: 1_000, factor: 2, maxDelayMs: 60_000, jitter: 0 };

  it('grows by the factor up to the longest delay', () => {
    const delays = [1, 2, 3, 6, 7, 100].map((attempt) => retryDelayMs(policy, attempt, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });

  it('spreads by the jitter in both directions', () => {
    const jittered = { ...policy, jitter: 0.25 };
    expect(retryDelayMs(jittered, 1, 0)).toBe(750);
    expect(retryDelayMs(jittered, 1, 0.5)).toBe(1_000);
    expect(retryDelayMs(jittered, 1, 0.999_999)).toBe(1_250);
  });

  it('stays a whole number of milliseconds within the jitter of its policy', () => {
    fc.assert(
      fc.property(policies, attempts, chance, (any, attempt, random) => {
        const delay = retryDelayMs(any, attempt, random);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(any.firstDelayMs * (1 - any.jitter)));
        expect(delay).toBeLessThanOrEqual(Math.ceil(any.maxDelayMs * (1 + any.jitter)));
      }),
    );
  });

  it('never shrinks from one attempt to the next with the same chance', () => {
    fc.assert(
      fc.property(
        policies,
        fc.integer({ min: 1, max: 99 }),
        chance,
        (any, attempt, random) =>
          retryDelayMs(any, attempt, random) <= retryDelayMs(any, attempt + 1, random),
      ),
    );
  });
});
