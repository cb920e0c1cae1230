import { AsyncLocalStorage } from 'node:async_hooks';

import type { Db } from '@millrace/db/client';
import type { Logger } from 'pino';

import type { Enqueue } from '../authoring/enqueue.ts';
import { type AbortReason, type HandlerContext, RunAborted } from '../authoring/handler.ts';
import { fatal } from '../authoring/outcome.ts';
import type { ErasedHandler } from '../authoring/registry.ts';
import type { JobDefinition } from '../contract/definition.ts';
import type { Settled } from './decide-ending.ts';
import { toError } from './describe-error.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';

/** How long a handler may take to end after its signal fired, before its run ends without it. */
export const ABORT_GRACE_MS = 2_000;

export interface ExecutionTools {
  readonly db: Db;
  readonly enqueue: Enqueue;
  readonly log: Logger;
}

/** An execution that has started. */
export interface RunningExecution {
  readonly claimed: ClaimedRun;
  /** How it ended, at the latest {@link ABORT_GRACE_MS} after an abort. Never rejects. */
  readonly settled: Promise<Settled>;
  /** When the handler really ended: later than `settled` if it ignores its signal. Never rejects. */
  readonly strand: Promise<unknown>;
  abort(reason: AbortReason): void;
  /** Ends it now with an error that its handler let escape (a timer's callback, a forgotten promise). */
  crash(error: unknown): void;
}

/** The execution to which the running code belongs. */
const current = new AsyncLocalStorage<RunningExecution>();

/** The execution whose code is running, also in handlers of escaped errors; undefined elsewhere. */
export function currentExecution(): RunningExecution | undefined {
  return current.getStore();
}

/** Starts the handler of a claimed run with its timeout. */
export function startExecution(
  claimed: ClaimedRun,
  definition: JobDefinition,
  loadHandler: () => Promise<ErasedHandler>,
  tools: ExecutionTools,
): RunningExecution {
  const controller = new AbortController();
  const crashed = Promise.withResolvers<Settled>();
  const started = Promise.withResolvers<Settled>();
  const execution: RunningExecution = {
    claimed,
    settled: Promise.race([
      settleOrAbort(started.promise, controller, definition.timeoutMs),
      crashed.promise,
    ]),
    strand: started.promise,
    abort: (reason) => controller.abort(new RunAborted(reason)),
    crash(thrown) {
      const error = isAskable(thrown) ? thrown : unreadable();
      crashed.resolve({ how: 'threw', error });
      controller.abort(toError(error));
    },
  };
  current.run(execution, () => {
    started.resolve(callHandler(claimed, definition, loadHandler, controller.signal, tools));
  });
  return execution;
}

async function callHandler(
  claimed: ClaimedRun,
  definition: JobDefinition,
  loadHandler: () => Promise<ErasedHandler>,
  signal: AbortSignal,
  tools: ExecutionTools,
): Promise<Settled> {
  try {
    const handler = await loadHandler();
    const args = definition.args.safeParse(claimed.args);
    if (!args.success) {
      throw fatal(`the stored arguments do not satisfy the schema of ${definition.name}`);
    }
    const value = await handler(args.data as never, handlerContext(claimed, signal, tools));
    return { how: 'returned', value: isAskable(value) ? value : null };
  } catch (error) {
    return { how: 'threw', error: isAskable(error) ? error : unreadable() };
  }
}

/** Whether `instanceof` works on it: a proxy may refuse, and whoever judges an ending must not fail. */
function isAskable(value: unknown): boolean {
  try {
    void (value instanceof Error);
    return true;
  } catch {
    return false;
  }
}

function unreadable(): Error {
  return new Error('an error that cannot be read was thrown');
}

/** The handler's end, or that of its timeout, cancel, shutdown or lease plus a short grace. */
export function settleOrAbort(
  strand: Promise<Settled>,
  controller: AbortController,
  timeoutMs: number,
): Promise<Settled> {
  return new Promise((resolve) => {
    const timeout = setTimeout(() => controller.abort(new RunAborted('timeout')), timeoutMs);
    let grace: NodeJS.Timeout | undefined;
    controller.signal.addEventListener(
      'abort',
      () => {
        grace = setTimeout(
          () => resolve({ how: 'threw', error: controller.signal.reason }),
          ABORT_GRACE_MS,
        );
      },
      { once: true },
    );
    void strand.then((settled) => {
      clearTimeout(timeout);
      clearTimeout(grace);
      resolve(becauseOfAbort(settled, controller.signal));
    });
  });
}

/** An error after the abort is the abort's doing; its reason says more than the error. */
function becauseOfAbort(settled: Settled, signal: AbortSignal): Settled {
  return signal.aborted && settled.how === 'threw'
    ? { how: 'threw', error: signal.reason }
    : settled;
}

function handlerContext(
  claimed: ClaimedRun,
  signal: AbortSignal,
  tools: ExecutionTools,
): HandlerContext {
  let log: Logger | undefined;
  return {
    runId: claimed.id,
    execution: claimed.execution,
    attempt: claimed.attempt,
    maxAttempts: claimed.max_attempts,
    slot: claimed.slot,
    signal,
    get log() {
      return (log ??= tools.log.child({
        runId: claimed.id,
        definition: claimed.definition,
        attempt: claimed.attempt,
        requestId: claimed.context['requestId'],
      }));
    },
    db: tools.db,
    enqueue: (definition, args, options) =>
      tools.enqueue(definition, args, { context: claimed.context, ...options }),
  };
}
