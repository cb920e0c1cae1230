import { setTimeout as sleep } from 'node:timers/promises';

import { startIncarnation, type WorkerIncarnation } from './worker-incarnation.ts';
import type { QueueLoad } from './work-delivery.ts';
import type { WorkerOptions } from './worker-options.ts';

/** A worker that has registered and is executing runs. */
export interface RunningWorker {
  /** Changes when the worker was declared lost and has registered anew. */
  readonly id: () => string;
  /** How many handlers run now. */
  readonly running: () => number;
  /** Runs by queue. */
  readonly load: () => ReadonlyMap<string, Readonly<QueueLoad>>;
  /** When the database last took the heartbeat. */
  readonly lastHeartbeat: () => Date;
  /**
   * Takes no new work, waits for running attempts up to the stop timeout, aborts the rest and hands
   * back what does not end. The caller then ends the process: a handler that ignored its signal may
   * still be running.
   */
  stop(options?: { timeoutMs?: number }): Promise<void>;
}

const RETRY_MS = 2_000;

/**
 * Starts a worker. Throws when a queue is unknown or the database cannot be reached. A worker that was
 * declared lost (its process had been stopped or blocked) gives up what it was doing and begins anew
 * under another id.
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  let stopping = false;
  let renewing: Promise<void> = Promise.resolve();

  const onLost = (): void => {
    options.log.error('this worker was declared lost; it begins anew');
    renewing = renew(incarnation);
  };
  let incarnation = await startIncarnation(options, onLost);

  async function renew(lost: WorkerIncarnation): Promise<void> {
    await lost.abandon();
    while (!stopping) {
      try {
        incarnation = await startIncarnation(options, onLost);
        return;
      } catch (error) {
        options.log.error({ err: error }, 'the worker cannot register; it tries again');
        await sleep(RETRY_MS);
      }
    }
  }

  return {
    id: () => incarnation.id,
    running: () => incarnation.running(),
    load: () => incarnation.load(),
    lastHeartbeat: () => incarnation.lastHeartbeat(),
    async stop({ timeoutMs = options.stopTimeoutMs ?? 20_000 } = {}) {
      stopping = true;
      await renewing;
      await incarnation.stop(timeoutMs);
    },
  };
}
