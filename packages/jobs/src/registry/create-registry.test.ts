import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineInlineJob } from '../authoring/define-inline-job.ts';
import { defineJob } from '../authoring/define-job.ts';
import { createRegistry } from './create-registry.ts';

const job = (name: string, queue = 'default') =>
  defineJob({ name, description: 'Does nothing.', args: z.object({}), queue });
const renamed = (name: string, former: string) =>
  defineJob({ name, description: 'Does nothing.', args: z.object({}), formerNames: [former] });
const sweep = defineInlineJob({ name: 'test.sweep', description: 'Sweeps.', limit: 1 });
const queues = { default: { concurrency: 1, prefetch: 0 } };
const handler = async () => {};

describe('createRegistry', () => {
  it('knows its definitions and queues by name', () => {
    const one = job('test.one');
    const registry = createRegistry({ definitions: [one, sweep], queues });
    expect([...registry.definitions]).toEqual([
      ['test.one', one],
      ['test.sweep', sweep],
    ]);
    expect([...registry.queues]).toEqual([['default', { concurrency: 1, prefetch: 0 }]]);
  });

  it('loads no handlers where none are given', () => {
    const registry = createRegistry({ definitions: [job('test.one'), sweep], queues });
    expect(registry.loadHandler).toBeUndefined();
    expect(registry.loadInlineHandler).toBeUndefined();
  });

  it('needs the handlers of the kind it loads only', () => {
    const definitions = [job('test.one'), sweep];
    const worker = createRegistry({
      definitions,
      queues,
      handlers: { 'test.one': () => Promise.resolve(handler) },
    });
    expect(worker.loadHandler).toBeDefined();
    const web = createRegistry({
      definitions,
      queues,
      inlineHandlers: {
        'test.sweep': () => Promise.resolve(async () => ({ count: 0, more: false })),
      },
    });
    expect(web.loadInlineHandler).toBeDefined();
  });

  it.each([
    [
      'a name used twice',
      { definitions: [job('test.one'), job('test.one')], queues },
      'two definitions are named test.one',
    ],
    [
      'a queue that is not declared',
      { definitions: [job('test.one', 'other')], queues },
      'test.one names the queue other, which is not declared',
    ],
    [
      'a former name that is in use',
      { definitions: [job('test.one'), renamed('test.two', 'test.one')], queues },
      'the former name test.one of test.two belongs to another definition',
    ],
    [
      'a former name of two',
      { definitions: [renamed('test.one', 'test.old'), renamed('test.two', 'test.old')], queues },
      'the former name test.old of test.two belongs to another definition',
    ],
    [
      'a missing handler',
      { definitions: [job('test.one')], queues, handlers: {} },
      'test.one has no handler',
    ],
    [
      'a missing inline handler',
      { definitions: [sweep], queues, inlineHandlers: {} },
      'test.sweep has no handler',
    ],
    [
      'a handler that only the prototype has',
      { definitions: [job('constructor')], queues, handlers: {} },
      'constructor has no handler',
    ],
    [
      'a malformed queue name',
      { definitions: [], queues: { 'my-queue': { concurrency: 1, prefetch: 0 } } },
      '"my-queue" is not a queue name',
    ],
    [
      'a concurrency of 0',
      { definitions: [], queues: { default: { concurrency: 0, prefetch: 0 } } },
      'queue default: concurrency',
    ],
    [
      'half a strand',
      { definitions: [], queues: { default: { concurrency: 1.5, prefetch: 0 } } },
      'queue default: concurrency',
    ],
    [
      'a negative prefetch',
      { definitions: [], queues: { default: { concurrency: 1, prefetch: -1 } } },
      'queue default: prefetch',
    ],
  ] as const)('refuses %s', (_what, parts, fault) => {
    expect(() => createRegistry(parts)).toThrow(
      new TypeError(`The job registry is not valid: ${fault}.`),
    );
  });

  it('lists every fault at once', () => {
    const create = (): unknown =>
      createRegistry({
        definitions: [job('test.one', 'other'), job('test.one')],
        queues: { BAD: { concurrency: 0, prefetch: -1 } },
        handlers: {},
      });
    for (const fault of [
      '"BAD"',
      'concurrency',
      'prefetch',
      'queue other',
      'queue default',
      'two definitions',
      'no handler',
    ]) {
      expect(create).toThrow(fault);
    }
  });

  it('loads a handler once, and again when that failed', async () => {
    let loads = 0;
    const registry = createRegistry({
      definitions: [job('test.one')],
      queues,
      handlers: {
        'test.one': async () => {
          if (++loads === 1) throw new Error('no such module');
          return handler;
        },
      },
    });
    await expect(registry.loadHandler?.('test.one')).rejects.toThrow('no such module');
    expect(await registry.loadHandler?.('test.one')).toBe(handler);
    expect(await registry.loadHandler?.('test.one')).toBe(handler);
    expect(loads).toBe(2);
  });

  it('has no handler for a name it does not know', () => {
    const registry = createRegistry({ definitions: [], queues, handlers: {} });
    expect(() => registry.loadHandler?.('test.other')).toThrow(
      'there is no handler for test.other',
    );
  });
});
