import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  Logger as GraphileLogger,
  run,
  type Runner,
  type RunnerOptions,
  type WorkerEvents,
} from 'graphile-worker';
import type pg from 'pg';
import type { Logger } from 'pino';

import type { QueueSettings } from '../../contract/queue.ts';
import type { Delivery } from '../delivery.ts';

/** One graphile-worker pool: it delivers the tickets of one queue to `work`. */
export interface QueueRunner {
  readonly queue: string;
  /** The id under which graphile-worker locks its tickets; those of a broken pool become free. */
  readonly poolIds: () => readonly string[];
  /** Fetches no more; resolves when every delivery has been worked on. */
  stop(): Promise<void>;
}

interface QueueRunnerOptions {
  readonly queue: string;
  readonly settings: QueueSettings;
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  /**
   * Works on one delivery. The ticket is dropped when it resolves; a rejection keeps it for later,
   * so it rejects only when nothing could be written.
   */
  readonly work: (delivery: Delivery) => Promise<void>;
}

/** Takes errors that escape from graphile-worker: some of its promises have nobody who waits. */
const escapes = new AsyncLocalStorage<(error: unknown) => void>();

/** Gives an escaped error to the runner in whose code it arose; false when it came from elsewhere. */
export function breakCurrentRunner(error: unknown): boolean {
  const breakDown = escapes.getStore();
  breakDown?.(error);
  return breakDown !== undefined;
}

const MAX_BACKOFF_MS = 2_000;

/** Connections that {@link startQueueRunner} needs: slots, or a fetch and a completion when batched. */
export function runnerConnections({ concurrency, prefetch }: QueueSettings): number {
  return (prefetch > 0 ? 2 : concurrency) + 2;
}

/** Starts delivering. A pool that breaks is replaced at once; what it was working on goes on. */
export async function startQueueRunner(options: QueueRunnerOptions): Promise<QueueRunner> {
  const runners = new Set<Runner>();
  let livePoolId: string | undefined;
  let stopping = false;

  async function start(): Promise<void> {
    let broken = false;
    const breakDown = (error: unknown): void => {
      options.log.error({ err: error, queue: options.queue }, 'a graphile pool broke');
      if (broken || stopping) return;
      broken = true;
      void restart();
    };
    const events: WorkerEvents = new EventEmitter();
    // Each of graphile's workers and helpers adds listeners of its own.
    events.setMaxListeners(0);
    events.on('pool:create', ({ workerPool }) => (livePoolId = workerPool.id));
    events.on('pool:fatalError', ({ error }) => breakDown(error));
    const runner = await escapes.run(breakDown, () =>
      run(runnerOptions(options, events, () => stopping)),
    );
    runners.add(runner);
    // Its reason has been told by the event; it resolves or rejects when its last delivery has ended.
    void runner.promise.catch(() => undefined).then(() => runners.delete(runner));
  }

  async function restart(): Promise<void> {
    for (let failures = 0; !stopping; failures++) {
      await sleep(Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures), undefined, { ref: false });
      try {
        return await start();
      } catch (error) {
        options.log.warn({ err: error, queue: options.queue }, 'a graphile pool cannot start');
      }
    }
  }

  await start();
  return {
    queue: options.queue,
    poolIds: () => (livePoolId === undefined ? [] : [livePoolId]),
    async stop() {
      stopping = true;
      await Promise.allSettled([...runners].map((runner) => runner.stop()));
    },
  };
}

function runnerOptions(
  options: QueueRunnerOptions,
  events: WorkerEvents,
  isStopping: () => boolean,
): RunnerOptions {
  const { concurrency, prefetch } = options.settings;
  const slots = concurrency + prefetch;
  return {
    pgPool: options.pool,
    schema: `gw_${options.queue}`,
    noHandleSignals: true,
    events,
    logger: graphileLogger(options.log, isStopping),
    taskList: {
      run: (payload, { job }) => options.work({ runId: runIdOf(payload), ticket: job.id }),
    },
    preset: {
      worker: {
        concurrentJobs: slots,
        pollInterval: options.pollIntervalMs,
        ...(prefetch > 0 && { localQueue: { size: slots + 1 } }),
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        // Our own stop timeout decides; graphile's would spend tickets.
        gracefulShutdownAbortTimeout: 2_147_483_647,
      },
    },
  };
}

function runIdOf(payload: unknown): string {
  if (typeof payload === 'object' && payload !== null && 'runId' in payload) {
    return String(payload.runId);
  }
  throw new Error('a ticket without a run id was delivered');
}

/**
 * graphile-worker's messages: its routine ones are debug, its errors are warnings (we judge runs). While
 * it stops, those are routine too: its local queue gives its tickets back, and complains that it has.
 */
function graphileLogger(log: Logger, isStopping: () => boolean): GraphileLogger {
  return new GraphileLogger(() => (level, message) => {
    if (message.includes('maxPoolSize')) return; // see runnerConnections
    const worrying = (level === 'error' || level === 'warning') && !isStopping();
    if (worrying) log.warn({ from: 'graphile-worker' }, message);
    else log.debug({ from: 'graphile-worker' }, message);
  });
}
