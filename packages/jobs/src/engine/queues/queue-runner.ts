import { EventEmitter } from 'node:events';

import { Logger as GraphileLogger, run, type Runner, type WorkerEvents } from 'graphile-worker';
import type pg from 'pg';
import type { Logger } from 'pino';

import type { QueueSettings } from '../../contract/queue.ts';
import type { Delivery } from '../transition-run.ts';

/** One graphile-worker pool: it delivers the tickets of one queue to `work`. */
export interface QueueRunner {
  readonly queue: string;
  /** Ids under which graphile-worker locks tickets, this runner's past ones included. */
  readonly poolIds: readonly string[];
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

/** Connections that {@link startQueueRunner} needs: slots, or a fetch and a completion when batched. */
export function runnerConnections({ concurrency, prefetch }: QueueSettings): number {
  return (prefetch > 0 ? 2 : concurrency) + 2;
}

export async function startQueueRunner(options: QueueRunnerOptions): Promise<QueueRunner> {
  const { queue, settings, log } = options;
  const slots = settings.concurrency + settings.prefetch;
  const poolIds: string[] = [];
  const events: WorkerEvents = new EventEmitter();
  // Each of graphile's workers and helpers adds listeners of its own.
  events.setMaxListeners(0);
  events.on('pool:create', ({ workerPool }) => poolIds.push(workerPool.id));

  const runner: Runner = await run({
    pgPool: options.pool,
    schema: `gw_${queue}`,
    noHandleSignals: true,
    events,
    logger: graphileLogger(log),
    taskList: {
      run: (payload, { job }) => options.work({ runId: runIdOf(payload), ticket: job.id }),
    },
    preset: {
      worker: {
        concurrentJobs: slots,
        pollInterval: options.pollIntervalMs,
        ...(settings.prefetch > 0 && { localQueue: { size: slots + 1 } }),
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        // Our own stop timeout decides; graphile's would spend tickets.
        gracefulShutdownAbortTimeout: 2_147_483_647,
      },
    },
  });
  return {
    queue,
    poolIds,
    async stop() {
      await runner.stop();
    },
  };
}

function runIdOf(payload: unknown): string {
  if (typeof payload === 'object' && payload !== null && 'runId' in payload) {
    return String(payload.runId);
  }
  throw new Error('a ticket without a run id was delivered');
}

/** graphile-worker's messages: its routine ones are debug, its errors are warnings (we judge runs). */
function graphileLogger(log: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message) => {
    if (level === 'error' || level === 'warning') log.warn({ from: 'graphile-worker' }, message);
    else log.debug({ from: 'graphile-worker' }, message);
  });
}
