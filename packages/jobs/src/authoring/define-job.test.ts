import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

import type { Duration } from '../contract/duration.ts';
import { defineJob } from './define-job.ts';
import type { Enqueue } from './enqueue.ts';
import { defineHandler } from './handler.ts';

const plain = { name: 'test.plain', description: 'Does nothing.', args: z.object({}) } as const;

describe('defineJob', () => {
  it('fills in what is not given', () => {
    expect(defineJob(plain)).toEqual({
      form: 'queued',
      name: 'test.plain',
      description: 'Does nothing.',
      formerNames: [],
      enabled: true,
      args: plain.args,
      newArgs: undefined,
      clock: 'none',
      schedule: '',
      timezone: 'UTC',
      missed: 'once',
      overlap: 'coalesce',
      timeoutMs: 300_000,
      maxAttempts: 3,
      queue: 'default',
      priority: 0,
      retry: { firstDelayMs: 1_000, factor: 2, maxDelayMs: 3_600_000, jitter: 0.25 },
    });
  });

  it('keeps what is given and fills in the rest of the retry policy', () => {
    const newArgs = () => ({});
    const given = defineJob({
      ...plain,
      newArgs,
      clock: 'kestra',
      overlap: 'skip',
      timeout: '90m',
      maxAttempts: 7,
      queue: 'batch',
      priority: -20,
      retry: { factor: 3, jitter: 0 },
    });
    expect(given).toMatchObject({
      newArgs,
      clock: 'kestra',
      overlap: 'skip',
      timeoutMs: 5_400_000,
      maxAttempts: 7,
      queue: 'batch',
      priority: -20,
      retry: { firstDelayMs: 1_000, factor: 3, maxDelayMs: 3_600_000, jitter: 0 },
    });
  });

  it('has the built-in clock where it has a schedule', () => {
    const given = { ...plain, schedule: '0 3 * * *', timezone: 'Europe/Berlin', enabled: false };
    expect(defineJob(given)).toMatchObject({ ...given, clock: 'builtin' });
  });

  it('cannot be changed afterwards', () => {
    expect(Object.isFrozen(defineJob(plain))).toBe(true);
  });

  it.each([
    ['one letter', 'a'],
    ['a capital', 'Test'],
    ['a digit in front', '1test'],
    ['a hyphen', 'test-job'],
    ['a slash', 'test/job'],
    ['64 characters', 'a'.repeat(64)],
    ['a line break', 'test\n'],
  ])('refuses a name with %s', (_what, name) => {
    expect(() => defineJob({ ...plain, name })).toThrow(/name must be 2 to 63/);
  });

  it.each(['ab', 'a'.repeat(63), 'a_b.c9'])('takes the name %s', (name) => {
    expect(defineJob({ ...plain, name }).name).toBe(name);
  });

  it.each([
    [
      'a bad schedule',
      { schedule: '0 25 * * *' },
      '"0 25 * * *" is not a cron expression: Constraint error, got value 25 expected range 0-23',
    ],
    [
      'a bad time zone',
      { timezone: 'Mars/Olympus' },
      '"Mars/Olympus" is not a time zone: write a name such as Europe/Berlin or UTC',
    ],
    [
      'a schedule beside Kestra',
      { schedule: '@every 5m', clock: 'kestra' },
      'a schedule and the clock "kestra" exclude each other',
    ],
    [
      'its own name as a former one',
      { formerNames: ['test.plain'] },
      'formerNames: "test.plain" is not a name that it can have had',
    ],
    ['an empty description', { description: '' }, 'description must say what the job does'],
    ['a blank description', { description: ' \n' }, 'description must say what the job does'],
    ['a timeout below 1s', { timeout: '999ms' }, 'timeout must be 1s to 24h'],
    ['a timeout above 24h', { timeout: '24.01h' }, 'timeout must be 1s to 24h'],
    ['no attempts', { maxAttempts: 0 }, 'maxAttempts must be 1 to 100'],
    ['101 attempts', { maxAttempts: 101 }, 'maxAttempts must be 1 to 100'],
    ['half an attempt', { maxAttempts: 1.5 }, 'maxAttempts must be 1 to 100'],
    ['attempts that are no number', { maxAttempts: NaN }, 'maxAttempts must be 1 to 100'],
    ['a priority below -100', { priority: -101 }, 'priority must be -100 to 100'],
    ['a priority above 100', { priority: 101 }, 'priority must be -100 to 100'],
    ['a broken priority', { priority: 0.5 }, 'priority must be -100 to 100'],
    ['a queue with a hyphen', { queue: 'my-queue' }, 'queue "my-queue" is not a queue name'],
    ['a queue without name', { queue: '' }, 'queue "" is not a queue name'],
    [
      'a first delay of 0',
      { retry: { firstDelayMs: 0 } },
      'retry.firstDelayMs must be 1 to maxDelayMs',
    ],
    [
      'a first delay above the longest',
      { retry: { firstDelayMs: 11, maxDelayMs: 10 } },
      'retry.firstDelayMs must be 1 to maxDelayMs',
    ],
    [
      'a longest delay above 24 days',
      { retry: { maxDelayMs: 2 ** 31 } },
      'retry.maxDelayMs must be at most 24 days',
    ],
    ['a factor below 1', { retry: { factor: 0.5 } }, 'retry.factor must be 1 to 100'],
    ['a factor above 100', { retry: { factor: 101 } }, 'retry.factor must be 1 to 100'],
    ['a negative jitter', { retry: { jitter: -0.1 } }, 'retry.jitter must be 0 to 1'],
    ['a jitter above 1', { retry: { jitter: 1.1 } }, 'retry.jitter must be 0 to 1'],
    ['a jitter that is no number', { retry: { jitter: NaN } }, 'retry.jitter must be 0 to 1'],
  ] as const)('refuses %s', (_what, options, fault) => {
    expect(() => defineJob({ ...plain, ...options })).toThrow(
      new TypeError(`Job definition "test.plain": ${fault}.`),
    );
  });

  it('refuses arguments that {} does not satisfy without newArgs', () => {
    const args = z.object({ userId: z.string() });
    // @ts-expect-error newArgs is missing
    const declare = (): unknown => defineJob({ ...plain, args });
    expect(declare).toThrow('newArgs is required: its schema does not accept {}');
  });

  it('refuses a malformed timeout', () => {
    for (const timeout of ['-5s', '1e3s', 'soon' as Duration] as const) {
      expect(() => defineJob({ ...plain, timeout })).toThrow(
        /Job definition "test.plain": timeout must/,
      );
    }
  });

  it('lists every fault at once', () => {
    const declare = (): unknown =>
      defineJob({
        ...plain,
        name: 'X',
        description: '',
        timeout: '-1s',
        maxAttempts: 0,
        priority: 1_000,
        queue: 'Q',
        retry: { factor: 0, jitter: 2 },
      });
    for (const fault of [
      '"X"',
      'name',
      'description',
      'timeout',
      'maxAttempts',
      'priority',
      'queue',
      'factor',
      'jitter',
    ]) {
      expect(declare).toThrow(fault);
    }
  });

  it('requires newArgs by its type unless {} is accepted', () => {
    const common = { name: 'test.typed', description: 'Is typed.' } as const;
    defineJob({ ...common, args: z.object({ note: z.string().optional() }) });
    defineJob({ ...common, args: z.object({ count: z.number().default(1) }) });
    defineJob({ ...common, args: z.object({ at: z.string() }), newArgs: () => ({ at: 'now' }) });
    defineJob({
      ...common,
      args: z.object({ at: z.string() }),
      newArgs: ({ slot }) => {
        expectTypeOf(slot).toEqualTypeOf<Date | null>();
        return { at: slot?.toISOString() ?? 'never' };
      },
    });
    // @ts-expect-error the arguments of newArgs are not those of the schema
    defineJob({ ...common, args: z.object({ at: z.string() }), newArgs: () => ({ at: 1 }) });
  });

  it('infers its name and the arguments on both sides of the schema', () => {
    const typed = defineJob({
      name: 'test.typed',
      description: 'Is typed.',
      args: z.object({ count: z.string().transform(Number), note: z.string().default('none') }),
      newArgs: () => ({ count: '1' }),
    });
    expectTypeOf(typed.name).toEqualTypeOf<'test.typed'>();
    defineHandler(typed, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ count: number; note: string }>();
      return Promise.resolve();
    });
    const enqueue: Enqueue = () => Promise.resolve({ runId: '', duplicate: false });
    void enqueue(typed, { count: '1' });
    // @ts-expect-error count is a string where a run is enqueued
    void enqueue(typed, { count: 1 });
    // @ts-expect-error count is missing
    void enqueue(typed, {});
  });
});
