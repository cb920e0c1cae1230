import type nodeCrypto from 'node:crypto';
import { timingSafeEqual } from 'node:crypto';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { checkSchedulerCredential } from './scheduler-auth.ts';

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof nodeCrypto>();
  return { ...crypto, timingSafeEqual: vi.fn<typeof timingSafeEqual>(crypto.timingSafeEqual) };
});

const CURRENT = 'current-secret-of-more-than-32-characters';
const PREVIOUS = 'previous-secret-of-more-than-32-characters';
const BOTH = { current: CURRENT, previous: PREVIOUS };

describe('checkSchedulerCredential', () => {
  beforeEach(() => {
    vi.mocked(timingSafeEqual).mockClear();
  });

  it.each([
    [null, 'missing'],
    [`Bearer ${CURRENT}`, 'current'],
    [`bearer ${CURRENT}`, 'current'],
    [`BEARER ${CURRENT}`, 'current'],
    [`Bearer   ${CURRENT}`, 'current'],
    [`Bearer ${PREVIOUS}`, 'previous'],
    ['', 'wrong'],
    ['Bearer', 'wrong'],
    ['Bearer ', 'wrong'],
    [CURRENT, 'wrong'],
    [`Basic ${CURRENT}`, 'wrong'],
    [`Bearer${CURRENT}`, 'wrong'],
    [`Bearer\t${CURRENT}`, 'wrong'],
    [` Bearer ${CURRENT}`, 'wrong'],
    [`Bearer ${CURRENT} `, 'wrong'],
    [`Bearer ${CURRENT} ${PREVIOUS}`, 'wrong'],
    [`Bearer ${CURRENT}x`, 'wrong'],
    [`Bearer ${CURRENT.slice(0, -1)}`, 'wrong'],
    [`Bearer ${CURRENT.toUpperCase()}`, 'wrong'],
    [`Bearer ${'x'.repeat(10_000)}`, 'wrong'],
    ['Bearer undefined', 'wrong'],
  ])('says of %j: %s, after two comparisons', (authorization, credential) => {
    expect(checkSchedulerCredential(authorization, BOTH)).toBe(credential);
    expect(timingSafeEqual).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['there is no previous one', { current: CURRENT, previous: undefined }, 'current'],
    ['both are the same', { current: CURRENT, previous: CURRENT }, 'current'],
    ['only the previous one is set', { current: undefined, previous: CURRENT }, 'previous'],
    ['none is set', { current: undefined, previous: undefined }, 'wrong'],
  ] as const)('compares twice when %s', (_, secrets, credential) => {
    expect(checkSchedulerCredential(`Bearer ${CURRENT}`, secrets)).toBe(credential);
    expect(timingSafeEqual).toHaveBeenCalledTimes(2);
  });

  it.each([undefined, ''])('takes no empty secret for the secret %j', (unset) => {
    const secrets = { current: unset, previous: unset };
    expect(checkSchedulerCredential('Bearer ', secrets)).toBe('wrong');
    expect(checkSchedulerCredential(null, secrets)).toBe('missing');
  });

  it('compares digests of equal length, whatever was sent', () => {
    checkSchedulerCredential('Bearer x', BOTH);
    for (const [given, secret] of vi.mocked(timingSafeEqual).mock.calls) {
      expect(given.byteLength).toBe(32);
      expect(secret.byteLength).toBe(32);
    }
  });
});
