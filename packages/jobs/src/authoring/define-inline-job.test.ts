import { describe, expect, expectTypeOf, it } from 'vitest';

import type { Duration } from '../contract/duration.ts';
import { defineInlineJob } from './define-inline-job.ts';

const plain = { name: 'test.inline', description: 'Sweeps.', limit: 50 } as const;

describe('defineInlineJob', () => {
  it('fills in the clock and the timeout', () => {
    expect(defineInlineJob(plain)).toEqual({
      enabled: true,
      form: 'inline',
      formerNames: [],
      name: 'test.inline',
      description: 'Sweeps.',
      clock: 'kestra',
      limit: 50,
      timeoutMs: 10_000,
    });
  });

  it('cannot be changed afterwards', () => {
    expect(Object.isFrozen(defineInlineJob(plain))).toBe(true);
  });

  it.each([
    ['a limit of 0', { limit: 0 }, 'limit must be 1 to 100000'],
    ['a limit above 100000', { limit: 100_001 }, 'limit must be 1 to 100000'],
    ['half an item', { limit: 0.5 }, 'limit must be 1 to 100000'],
    ['a limit that is no number', { limit: NaN }, 'limit must be 1 to 100000'],
    ['no limit', { limit: undefined as unknown as number }, 'limit must be 1 to 100000'],
    ['a timeout above 10s', { timeout: '10001ms' }, 'timeout must be at most 10s'],
    ['a timeout of nothing', { timeout: '0s' }, 'timeout must be at most 10s'],
    ['a malformed timeout', { timeout: 'soon' as Duration }, 'timeout must be at most 10s'],
    ['a blank description', { description: ' ' }, 'description must say what the job does'],
  ] as const)('refuses %s', (_what, options, fault) => {
    expect(() => defineInlineJob({ ...plain, ...options })).toThrow(
      new TypeError(`Job definition "test.inline": ${fault}.`),
    );
  });

  it('lists every fault at once', () => {
    const declare = (): unknown =>
      defineInlineJob({ name: '1', description: '', limit: -1, timeout: '1h' });
    for (const fault of ['"1"', 'name', 'description', 'limit', 'timeout']) {
      expect(declare).toThrow(fault);
    }
  });

  it('has a cap by its type', () => {
    // @ts-expect-error limit is missing
    const declare = (): unknown => defineInlineJob({ name: 'test.inline', description: 'Sweeps.' });
    expect(declare).toThrow('limit');
    expectTypeOf(defineInlineJob(plain).name).toEqualTypeOf<'test.inline'>();
  });
});
