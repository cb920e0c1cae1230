import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import type { EnqueueOptions } from '../authoring/enqueue.ts';
import type { JobDefinition } from '../contract/definition.ts';
import { JobError } from '../contract/errors.ts';
import { storedArgs, toRequest } from './enqueue-run.ts';

const job = <Args extends z.ZodType>(args: Args): JobDefinition<'test.args', Args> =>
  defineJob({
    name: 'test.args',
    description: 'Takes arguments.',
    args,
    newArgs: () => ({}),
  } as never);
const anything = job(z.unknown());

/** The message of the refusal. */
function refusal(definition: JobDefinition, args: unknown): string {
  try {
    storedArgs(definition, args);
  } catch (error) {
    if (error instanceof JobError && error.code === 'invalid_job_args') return error.message;
    throw error;
  }
  return 'accepted';
}

describe('storedArgs', () => {
  it('gives what the worker will read, before the schema changes it', () => {
    const definition = job(
      z.object({ count: z.string().transform(Number), note: z.string().default('none') }),
    );
    const stored = storedArgs(definition, { count: '12' });
    expect(stored).toEqual({ count: '12' });
    expect(definition.args.parse(stored)).toEqual({ count: 12, note: 'none' });
  });

  it('takes dates through a schema that reads them from text', () => {
    const definition = job(z.object({ at: z.coerce.date() }));
    const stored = storedArgs(definition, { at: new Date('2030-01-31T02:00:00.123Z') });
    expect(stored).toEqual({ at: '2030-01-31T02:00:00.123Z' });
    expect(definition.args.parse(stored)).toEqual({ at: new Date('2030-01-31T02:00:00.123Z') });
  });

  it('refuses what would not survive as JSON', () => {
    expect(refusal(job(z.object({ at: z.date() })), { at: new Date() })).toMatch(
      /at: .*expected date/,
    );
    expect(
      refusal(job(z.object({ to: z.map(z.string(), z.string()) })), { to: new Map() }),
    ).toContain('to: ');
    expect(refusal(job(z.object({ n: z.number() })), { n: Infinity })).toContain('n: ');
  });

  it('leaves out what is undefined', () => {
    expect(storedArgs(job(z.object({ note: z.string().optional() })), { note: undefined })).toEqual(
      {},
    );
  });

  it('names every part that the schema refuses', () => {
    const definition = job(z.object({ to: z.object({ mail: z.email() }), count: z.number() }));
    const message = refusal(definition, { to: { mail: 'x' }, count: '1' });
    expect(message).toMatch(/^Arguments of test\.args: to\.mail: .*; count: /);
    expect(refusal(definition, [])).toContain('(arguments): ');
  });

  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a bigint', { n: 1n }],
    [
      'a circle',
      (() => {
        const circle: Record<string, unknown> = {};
        circle['self'] = circle;
        return circle;
      })(),
    ],
    [
      'what refuses to be written',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
    ],
    [
      'what is nested too deeply',
      Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], null),
    ],
  ])('refuses %s', (_what, args) => {
    expect(refusal(anything, args)).toContain('cannot be written as JSON');
  });

  it('refuses null, which the database takes for no arguments at all', () => {
    expect(refusal(job(z.null()), null)).toContain('null');
    expect(storedArgs(anything, { nested: null })).toEqual({ nested: null });
  });

  it.each([
    ['NUL', { a: 'x\0' }],
    ['NUL in a key', { 'x\0': 1 }],
    ['NUL at depth', { a: [[{ b: '\0' }]] }],
    ['half a surrogate pair', { a: '\uD83D' }],
    ['half a surrogate pair in a key', { '\uDE00': 1 }],
    ['a bare NUL', '\0'],
  ])('refuses %s', (_what, args) => {
    expect(refusal(anything, args)).toContain('NUL character or half a surrogate pair');
  });

  it('takes arguments up to 256 Ki characters', () => {
    const fits = 'x'.repeat(262_144 - 2);
    expect(storedArgs(anything, fits)).toBe(fits);
    expect(refusal(anything, `${fits}x`)).toBe(
      'Arguments of test.args: they take 262145 characters of 262144; pass a reference instead.',
    );
  });

  it('takes every other JSON value as it is', () => {
    const values = fc
      .jsonValue()
      .filter((value) => value !== null && !/\\u(0000|d[89a-f])/.test(JSON.stringify(value)));
    fc.assert(
      fc.property(values, (value) => {
        expect(JSON.stringify(storedArgs(anything, value))).toBe(JSON.stringify(value));
      }),
    );
  });
});

describe('toRequest', () => {
  const definition = defineJob({
    name: 'test.request',
    description: 'Is requested.',
    args: z.object({}),
    queue: 'mail',
    priority: 5,
    maxAttempts: 4,
  });
  const request = (options?: EnqueueOptions): Record<string, unknown> =>
    JSON.parse(toRequest({ definition, args: {}, options })) as Record<string, unknown>;

  it('takes queue, priority and attempts from the definition', () => {
    expect(request()).toEqual({
      definition: 'test.request',
      args: {},
      queue: 'mail',
      priority: 5,
      maxAttempts: 4,
    });
  });

  it('passes every option on', () => {
    expect(
      request({
        delayMs: 10.4,
        priority: -100,
        tags: ['a', 'b'],
        dedupe: { key: 'k' },
        context: { requestId: 'r' },
      }),
    ).toMatchObject({
      delayMs: 10,
      priority: -100,
      tags: ['a', 'b'],
      dedupeKey: 'k',
      context: { requestId: 'r' },
    });
    expect(request({ runAt: new Date('2030-01-01T00:00:00Z') })).toMatchObject({
      runAt: '2030-01-01T00:00:00.000Z',
    });
  });

  it.each([
    ['a date that is none', { runAt: new Date(NaN) }, 'runAt is not a date'],
    ['both times', { runAt: new Date(), delayMs: 1 }, 'give runAt or delayMs, not both'],
    ['a negative delay', { delayMs: -1 }, 'delayMs must be 0 to 10 years'],
    ['a delay that is no number', { delayMs: NaN }, 'delayMs must be 0 to 10 years'],
    ['an endless delay', { delayMs: Infinity }, 'delayMs must be 0 to 10 years'],
    ['a priority of 101', { priority: 101 }, 'priority must be -100 to 100'],
    ['a broken priority', { priority: 0.5 }, 'priority must be -100 to 100'],
    ['11 tags', { tags: Array<string>(11).fill('t') }, 'at most 10 tags'],
    ['an empty tag', { tags: [''] }, 'a tag has 1 to 100 characters'],
    ['a tag of 101 characters', { tags: ['t'.repeat(101)] }, 'a tag has 1 to 100 characters'],
    ['a tag with NUL', { tags: ['a\0'] }, 'a tag has 1 to 100 characters'],
    ['a tag with half a surrogate pair', { tags: ['\uD83D'] }, 'a tag has 1 to 100 characters'],
    ['an empty key', { dedupe: { key: '' } }, 'dedupe.key has 1 to 200 characters'],
    [
      'a key of 201 characters',
      { dedupe: { key: 'k'.repeat(201) } },
      'dedupe.key has 1 to 200 characters',
    ],
    ['a key with NUL', { dedupe: { key: '\0' } }, 'dedupe.key has 1 to 200 characters'],
    [
      'a key with half a surrogate pair',
      { dedupe: { key: '\uDE00' } },
      'dedupe.key has 1 to 200 characters',
    ],
  ] satisfies [string, EnqueueOptions, string][])('refuses %s', (_what, options, fault) => {
    expect(() => request(options)).toThrow(new TypeError(`enqueue: ${fault}`));
  });

  it('lists every fault at once', () => {
    expect(() => request({ delayMs: -1, priority: 500, tags: [''] })).toThrow(
      'enqueue: delayMs must be 0 to 10 years; priority must be -100 to 100; a tag has 1 to 100 characters',
    );
  });
});
