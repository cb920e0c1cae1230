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
  /** Fetches nothing while held; what it has fetched and not begun goes back. */
  hold(held: boolean): void;
  /** Begins anew with another pool; what was begun goes on. For a listener that may be dead. */
  renew(): void;
  /** Fetches no more; resolves when every delivery has been worked on. */
  stop(): Promise<void>;
}

interface QueueRunnerOptions {
  readonly queue: string;
  readonly settings: QueueSettings;
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  /** Whether it begins by fetching nothing; see {@link QueueRunner.hold}. */
  readonly held: boolean;
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
  const delivering = new Delivering(options);
  await delivering.begin();
  return {
    queue: options.queue,
    poolIds: () => [...delivering.runners.values()],
    hold: (held) => delivering.hold(held),
    renew: () => delivering.renew(),
    stop: () => delivering.stop(),
  };
}

class Delivering {
  /** Those that may hold tickets, with their pool's id; at most one of them fetches. */
  readonly runners = new Map<Runner, string>();
  private fetching: Runner | undefined;
  private held: boolean;
  private stopping = false;
  private adjusting = false;
  private readonly options: QueueRunnerOptions;

  constructor(options: QueueRunnerOptions) {
    this.options = options;
    this.held = options.held;
  }

  async begin(): Promise<void> {
    if (!this.held) await this.start();
  }

  hold(held: boolean): void {
    this.held = held;
    void this.adjust();
  }

  renew(): void {
    this.retire();
    void this.adjust();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.retire();
    // Deliveries end before their runner's promise does, whatever that comes to.
    await Promise.allSettled([...this.runners.keys()].map((runner) => runner.promise));
  }

  /** Makes what is the case what should be: one runner fetches, or none while held. */
  private async adjust(): Promise<void> {
    if (this.adjusting) return;
    this.adjusting = true;
    for (let failures = 0; !this.stopping && this.isFetching() === this.held;) {
      if (this.held) this.retire();
      else await this.start().catch((error: unknown) => this.warn(error));
      if (this.isFetching() !== this.held) continue;
      await sleep(Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures++), undefined, { ref: false });
    }
    this.adjusting = false;
  }

  private isFetching(): boolean {
    return this.fetching !== undefined;
  }

  private retire(): void {
    void this.fetching?.stop().catch(() => undefined);
    this.fetching = undefined;
  }

  private async start(): Promise<void> {
    const pool = { id: '', broken: false };
    let runner: Runner | undefined;
    const breakDown = (error: unknown): void => {
      this.options.log.error({ err: error, queue: this.options.queue }, 'a graphile pool broke');
      if (pool.broken || this.stopping) return;
      pool.broken = true;
      if (runner === this.fetching) this.fetching = undefined;
      void this.adjust();
    };
    const events: WorkerEvents = new EventEmitter();
    // Each of graphile's workers and helpers adds listeners of its own.
    events.setMaxListeners(0);
    events.on('pool:create', ({ workerPool }) => (pool.id = workerPool.id));
    events.on('pool:fatalError', ({ error }) => breakDown(error));
    const started = await escapes.run(breakDown, () =>
      run(runnerOptions(this.options, events, () => this.stopping || this.held)),
    );
    runner = started;
    this.runners.set(started, pool.id);
    // Its reason has been told by the event; it resolves or rejects when its last delivery has ended.
    void started.promise.catch(() => undefined).then(() => this.runners.delete(started));
    if (pool.broken) return;
    this.fetching = started;
    if (this.stopping) this.retire();
  }

  private warn(error: unknown): void {
    const about = { err: error, queue: this.options.queue };
    this.options.log.warn(about, 'a graphile pool cannot start');
  }
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
