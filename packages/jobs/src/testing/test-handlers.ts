import {
  type AbortReason,
  type Handler,
  type HandlerContext,
  RunAborted,
} from '../authoring/handler.ts';
import { cancel, fatal, snooze } from '../authoring/outcome.ts';
import type { ErasedHandler, Registry } from '../authoring/registry.ts';
import type { JobDefinition } from '../contract/definition.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { returnedValue, thrownValue } from './junk.ts';
import {
  cancelling,
  deaf,
  deafAndOverdue,
  definitions,
  fatally,
  flaky,
  ok,
  overdue,
  parent,
  returning,
  slow,
  snoozing,
  throwing,
  triggered,
} from './test-jobs.ts';

/** One call of a handler, for the test to look at and, where it waits, to let end. */
export interface Call {
  readonly runId: string;
  readonly definition: string;
  readonly args: unknown;
  readonly attempt: number;
  readonly slot: Date | null;
  /** Why its signal fired, if it did. */
  readonly aborted: () => AbortReason | null;
  release(): void;
}

/** A registry of the test's own, and what its handlers were called with. */
export interface TestRegistry {
  readonly registry: Registry;
  readonly calls: readonly Call[];
  /** Lets every call end, those to come included. */
  readonly releaseAll: () => void;
}

const QUEUES = {
  default: { concurrency: 10, prefetch: 0 },
  batch: { concurrency: 2, prefetch: 0 },
  mail: { concurrency: 5, prefetch: 0 },
} as const satisfies Record<string, QueueSettings>;

/** Handlers of the purpose-made definitions, or of some of them, over queues that may be set differently. */
export function createTestRegistry(
  options: {
    readonly only?: readonly JobDefinition[];
    readonly queues?: Readonly<Record<string, QueueSettings>>;
  } = {},
): TestRegistry {
  const known = options.only ?? definitions;
  const calls: Call[] = [];
  const releases = new Set<() => void>();
  let released = false;

  const handlers = handlersOf((ctx, definition, args) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (released) resolve();
    releases.add(resolve);
    calls.push({
      runId: ctx.runId,
      definition,
      args,
      attempt: ctx.attempt,
      slot: ctx.slot,
      aborted: () => {
        const reason: unknown = ctx.signal.reason;
        return reason instanceof RunAborted ? reason.reason : null;
      },
      release: resolve,
    });
    return promise;
  });
  return {
    registry: createRegistry({
      definitions: known,
      queues: { ...QUEUES, ...options.queues },
      handlers: Object.fromEntries(
        known.map(({ name }) => [name, () => Promise.resolve(handlers.get(name) as ErasedHandler)]),
      ),
    }),
    calls,
    releaseAll: () => {
      released = true;
      for (const release of releases) release();
    },
  };
}

/** Records a call; what it returns resolves when the test releases the call. */
type RecordCall = (ctx: HandlerContext, definition: string, args: unknown) => Promise<void>;

type Add = <Definition extends JobDefinition>(
  definition: Definition,
  handler: Handler<Definition>,
) => void;

function handlersOf(record: RecordCall): ReadonlyMap<string, ErasedHandler> {
  const handlers = new Map<string, ErasedHandler>();
  const add: Add = (definition, handler) => {
    handlers.set(definition.name, handler);
  };
  addLasting(add, record);
  addEnding(add, record);
  addOutcomes(add, record);
  return handlers;
}

/** Those that go on until something ends them. */
function addLasting(add: Add, record: RecordCall): void {
  for (const definition of [slow, overdue, ...Object.values(triggered)]) {
    add<JobDefinition>(definition, async (args, ctx) => {
      await Promise.race([record(ctx, definition.name, args), abortOf(ctx.signal)]);
      return { released: 1 };
    });
  }
  for (const definition of [deaf, deafAndOverdue]) {
    add<JobDefinition>(definition, async (args, ctx) => {
      await record(ctx, definition.name, args);
    });
  }
}

/** Those that return or throw at once. */
function addEnding(add: Add, record: RecordCall): void {
  add(ok, async ({ note }, ctx) => {
    void record(ctx, ok.name, { note });
    return { noteLength: note.length };
  });
  add(flaky, async ({ failures }, ctx) => {
    void record(ctx, flaky.name, { failures });
    if (ctx.attempt <= failures) throw new Error(`attempt ${ctx.attempt} fails`);
    return { attempt: ctx.attempt };
  });
  add(throwing, async ({ what, secret }, ctx) => {
    void record(ctx, throwing.name, { what });
    throw thrownValue(what, secret);
  });
  add(returning, async ({ what }, ctx) => {
    void record(ctx, returning.name, { what });
    return returnedValue(what) as Record<string, unknown>;
  });
  add(parent, async (_args, ctx) => {
    void record(ctx, parent.name, {});
    await ctx.enqueue(ok, { note: 'from the parent' });
  });
}

/** Those that end by an outcome. */
function addOutcomes(add: Add, record: RecordCall): void {
  const snoozes = new Map<string, number>();
  add(snoozing, async ({ times }, ctx) => {
    void record(ctx, snoozing.name, { times });
    const before = snoozes.get(ctx.runId) ?? 0;
    snoozes.set(ctx.runId, before + 1);
    return before < times ? snooze(1) : { snoozes: before };
  });
  add(fatally, async ({ how }, ctx) => {
    void record(ctx, fatally.name, { how });
    const outcome = fatal('the account is gone');
    if (how === 'thrown') throw outcome;
    return outcome;
  });
  add(cancelling, async ({ how }, ctx) => {
    void record(ctx, cancelling.name, { how });
    const outcome = cancel('nothing is left to do');
    if (how === 'thrown') throw outcome;
    return outcome;
  });
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
