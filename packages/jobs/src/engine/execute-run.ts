import { AsyncLocalStorage } from 'node:async_hooks';

import { type AbortReason, RunAborted } from '../authoring/handler.ts';
import { fatal } from '../authoring/outcome.ts';
import type { ErasedHandler } from '../authoring/registry.ts';
import type { JobDefinition } from '../contract/definition.ts';
import { ExecutionScope, type ExecutionTools } from './context/execution-scope.ts';
import { RunHandlerContext } from './context/handler-context.ts';
import type { Settled } from './decide-ending.ts';
import { toError } from './describe-error.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import { type RunSpan, startRunSpan } from './telemetry/run-span.ts';

/** How long a handler may take to end after its signal fired, before its run ends without it. */
export const ABORT_GRACE_MS = 2_000;

/** An execution that has started. */
export interface RunningExecution {
  readonly claimed: ClaimedRun;
  readonly queue: string;
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly scope: ExecutionScope;
  /** Undefined while no OpenTelemetry SDK is registered. */
  readonly span: RunSpan | undefined;
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
  queue: string = definition.queue,
): RunningExecution {
  const scope = new ExecutionScope(claimed, tools);
  const controller = new AbortController();
  const crashed = Promise.withResolvers<Settled>();
  const started = Promise.withResolvers<Settled>();
  const execution: RunningExecution = {
    claimed,
    queue,
    startedAt: performance.now(),
    scope,
    span: startRunSpan(claimed, queue, scope),
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
  const call = (): Promise<Settled> =>
    callHandler(scope, definition, loadHandler, controller.signal);
  current.run(execution, () => {
    started.resolve(execution.span ? execution.span.run(call) : call());
  });
  return execution;
}

async function callHandler(
  scope: ExecutionScope,
  definition: JobDefinition,
  loadHandler: () => Promise<ErasedHandler>,
  signal: AbortSignal,
): Promise<Settled> {
  try {
    const handler = await loadHandler();
    const args = definition.args.safeParse(scope.claimed.args);
    if (!args.success) {
      throw fatal(`the stored arguments do not satisfy the schema of ${definition.name}`);
    }
    const value = await handler(args.data as never, new RunHandlerContext(scope, signal));
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
