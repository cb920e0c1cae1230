import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import { type HandlerContext, RunAborted } from '../authoring/handler.ts';
import { FatalOutcome } from '../authoring/outcome.ts';
import type { ErasedHandler } from '../authoring/registry.ts';
import type { ExecutionTools } from './context/execution-scope.ts';
import type { Settled } from './decide-ending.ts';
import { ABORT_GRACE_MS, currentExecution, settleOrAbort, startExecution } from './execute-run.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';

const TIMEOUT_MS = 60_000;
const definition = defineJob({
  name: 'test.execute',
  description: 'Is executed.',
  args: z.object({ count: z.string().transform(Number), note: z.string().default('none') }),
  newArgs: () => ({ count: '1' }),
  timeout: `${TIMEOUT_MS}ms`,
});
const claimed: ClaimedRun = {
  id: 'a0000000-0000-7000-8000-000000000001',
  definition: definition.name,
  ticket: '7',
  execution: 2,
  attempt: 2,
  max_attempts: 3,
  losses: 0,
  args: { count: '12' },
  context: {
    requestId: 'r-1',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'vendor=1',
    actor: { kind: 'user', id: 'u-1', label: 'Ann', orgId: 'o-1', permissions: ['ops.admin'] },
    permissions: ['ops.admin'],
  },
  slot: new Date('2030-01-01T00:00:00Z'),
  trigger: 'app',
  waited_ms: 0,
};
const enqueued: unknown[][] = [];
const tools: ExecutionTools = {
  db: {} as ExecutionTools['db'],
  enqueue: (...call: unknown[]) => {
    enqueued.push(call);
    return Promise.resolve({ runId: 'x', duplicate: false });
  },
  log: pino({ level: 'silent' }),
  notes: { addLine: () => true, addProgress: () => undefined, flush: () => Promise.resolve() },
};
const start = (
  handler: (args: { count: number; note: string }, ctx: HandlerContext) => Promise<unknown>,
  run = claimed,
) => startExecution(run, definition, () => Promise.resolve(handler as ErasedHandler), tools);
const never = () => new Promise<never>(() => {});
const timedOut = { how: 'threw', error: new RunAborted('timeout') };

// The clock is fake, so that no test depends on how fast the machine is.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  enqueued.length = 0;
});
afterEach(() => vi.useRealTimers());

describe('settleOrAbort', () => {
  const begin = () => {
    const controller = new AbortController();
    const strand = Promise.withResolvers<Settled>();
    let settled: Settled | undefined;
    void settleOrAbort(strand.promise, controller, TIMEOUT_MS).then((how) => (settled = how));
    return { controller, end: strand.resolve, settled: () => settled };
  };

  it('settles as the handler does and leaves no timer', async () => {
    const { end, settled, controller } = begin();
    end({ how: 'returned', value: 1 });
    await vi.advanceTimersByTimeAsync(0);
    expect(settled()).toEqual({ how: 'returned', value: 1 });
    expect(controller.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('aborts at the timeout and waits out the grace', async () => {
    const { settled, controller } = begin();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    expect(controller.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(controller.signal.reason).toEqual(new RunAborted('timeout'));
    await vi.advanceTimersByTimeAsync(ABORT_GRACE_MS - 1);
    expect(settled()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(settled()).toEqual(timedOut);
  });

  it('blames the abort for an error within the grace', async () => {
    const { end, settled } = begin();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    end({ how: 'threw', error: new DOMException('interrupted', 'AbortError') });
    await vi.advanceTimersByTimeAsync(0);
    expect(settled()).toEqual(timedOut);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes a value that the handler returns within the grace', async () => {
    const { end, settled } = begin();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS + ABORT_GRACE_MS - 1);
    end({ how: 'returned', value: 'just in time' });
    await vi.advanceTimersByTimeAsync(ABORT_GRACE_MS);
    expect(settled()).toEqual({ how: 'returned', value: 'just in time' });
  });

  it('keeps its word when the handler ends after the grace', async () => {
    const { end, settled } = begin();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS + ABORT_GRACE_MS);
    end({ how: 'returned', value: 'too late' });
    await vi.advanceTimersByTimeAsync(0);
    expect(settled()).toEqual(timedOut);
  });

  it('keeps the first reason', async () => {
    const { controller, settled } = begin();
    controller.abort(new RunAborted('cancelled'));
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS * 2);
    expect(settled()).toEqual({ how: 'threw', error: new RunAborted('cancelled') });
  });
});

describe('startExecution', () => {
  it('gives the handler what the schema made of the arguments, and its context', async () => {
    const seen: unknown[] = [];
    const execution = start(async (args, ctx) => {
      seen.push(
        args,
        ctx.runId,
        ctx.attempt,
        ctx.maxAttempts,
        ctx.slot,
        ctx.signal.aborted,
        ctx.log.bindings(),
      );
      return { done: 1 };
    });
    expect(await execution.settled).toEqual({ how: 'returned', value: { done: 1 } });
    expect(await execution.strand).toEqual({ how: 'returned', value: { done: 1 } });
    expect(seen).toMatchObject([
      { count: 12, note: 'none' },
      claimed.id,
      2,
      3,
      claimed.slot,
      false,
      { runId: claimed.id, definition: 'test.execute', attempt: 2, requestId: 'r-1' },
    ]);
  });

  const onBehalfOf = { kind: 'user', id: 'u-1', label: 'Ann', orgId: 'o-1' };

  it('acts as Millrace in the organisation of whoever caused the run, and says who that was', async () => {
    const seen: unknown[] = [];
    await start(async (_args, ctx) => seen.push(ctx.actor, ctx.onBehalfOf, ctx.requestId)).settled;
    expect(seen).toEqual([
      { kind: 'system', id: 'jobs', label: 'system:jobs', orgId: 'o-1' },
      onBehalfOf,
      'r-1',
    ]);
  });

  it.each([{}, null, 'text', { requestId: '', actor: { kind: 'root' }, traceparent: 'x' }])(
    'acts for nobody when the context is %j',
    async (context) => {
      const seen: unknown[] = [];
      const run = { ...claimed, context: context as ClaimedRun['context'] };
      await start(async (_args, ctx) => seen.push(ctx.actor, ctx.onBehalfOf, ctx.requestId), run)
        .settled;
      const actor = { kind: 'system', id: 'jobs', label: 'system:jobs', orgId: null };
      expect(seen).toEqual([actor, null, null]);
    },
  );

  it('hands request, actor and trace on to what the handler enqueues, whatever that asks for', async () => {
    await start(async (_args, ctx) => {
      await ctx.enqueue(definition, { count: '1' });
      const forged = { priority: 1, context: { requestId: 'other', actor: ctx.actor } };
      await ctx.enqueue(definition, { count: '2' }, forged);
    }).settled;
    const { requestId, traceparent, tracestate } = claimed.context;
    const context = { requestId, traceparent, tracestate, actor: onBehalfOf };
    expect(enqueued).toEqual([
      [definition, { count: '1' }, { context }],
      [definition, { count: '2' }, { priority: 1, context }],
    ]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('at once');
      },
    ],
    ['rejects', () => Promise.reject(new Error('at once'))],
  ])('settles when the handler %s', async (_how, handler) => {
    expect(await start(handler).settled).toEqual({ how: 'threw', error: new Error('at once') });
  });

  it('settles when the handler cannot be loaded', async () => {
    const execution = startExecution(
      claimed,
      definition,
      () => Promise.reject(new Error('no module')),
      tools,
    );
    expect(await execution.settled).toEqual({ how: 'threw', error: new Error('no module') });
  });

  it('is fatal, without calling the handler, when the arguments no longer fit', async () => {
    let called = false;
    const settled = await start(async () => (called = true), { ...claimed, args: { count: 12 } })
      .settled;
    expect(settled).toMatchObject({ how: 'threw', error: expect.any(FatalOutcome) });
    expect(called).toBe(false);
  });

  it('aborts for the reason it is told', async () => {
    const execution = start(
      (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    await vi.advanceTimersByTimeAsync(0);
    execution.abort('shutdown');
    expect(await execution.settled).toEqual({ how: 'threw', error: new RunAborted('shutdown') });
  });

  it('has a strand for as long as the handler really runs', async () => {
    const ended = Promise.withResolvers<void>();
    const execution = start(() => ended.promise);
    let strandEnded = false;
    void execution.strand.then(() => (strandEnded = true));
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS + ABORT_GRACE_MS);
    expect(await execution.settled).toEqual(timedOut);
    expect(strandEnded).toBe(false);
    ended.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(strandEnded).toBe(true);
  });
});

describe('crash', () => {
  it('ends the execution with the error that escaped, and aborts its signal', async () => {
    let signal: AbortSignal | undefined;
    const execution = start((_args, ctx) => {
      signal = ctx.signal;
      return never();
    });
    await vi.advanceTimersByTimeAsync(0);
    execution.crash('a text');
    expect(await execution.settled).toEqual({ how: 'threw', error: 'a text' });
    expect(signal?.aborted).toBe(true);
  });
});

describe('currentExecution', () => {
  it('is the one to which the running code belongs, also in what it left behind', async () => {
    const seen: unknown[] = [];
    const left = Promise.withResolvers<void>();
    const called = Promise.withResolvers<void>();
    const execution = start(async () => {
      seen.push(currentExecution());
      void left.promise.then(() => seen.push(currentExecution()));
      setImmediate(() => {
        seen.push(currentExecution());
        called.resolve();
      });
    });
    await execution.settled;
    left.resolve();
    await called.promise;
    expect(seen).toEqual([execution, execution, execution]);
    expect(currentExecution()).toBeUndefined();
  });

  it('keeps executions side by side apart', async () => {
    const seen = new Map<unknown, unknown>();
    const handler = async (): Promise<void> => {
      await Promise.resolve();
      seen.set(currentExecution(), currentExecution()?.claimed.id);
    };
    const executions = ['b', 'c'].map((id) => start(handler, { ...claimed, id }));
    await Promise.all(executions.map(({ settled }) => settled));
    expect(executions.map((execution) => seen.get(execution))).toEqual(['b', 'c']);
  });
});
