import type pg from 'pg';
import type { Logger } from 'pino';

import { renewWorker } from '../sql/workers.ts';

/** A worker whose lease has not been renewed for this long is lost, unless told otherwise. */
export const LEASE_MS = 15_000;

export interface Heartbeat {
  /** When the database last took it. */
  readonly last: () => Date;
  /** For how long it has been taken without a gap, in milliseconds. */
  readonly steadyForMs: () => number;
  stop(): void;
}

interface HeartbeatOptions {
  readonly pool: pg.Pool;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly poolIds: () => readonly string[];
  readonly log: Logger;
  /** Called once, when the worker finds that it has been declared lost. */
  readonly onLost: () => void;
}

/** Renews the worker's lease several times within it, with the graphile pools it owns. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { pool, workerId, poolIds, log } = options;
  const everyMs = options.leaseMs / 7.5;
  let last = new Date();
  let steadySince = Date.now();
  let beating = false;
  let lost = false;

  async function beat(): Promise<void> {
    if (beating || lost) return;
    beating = true;
    try {
      const { rowCount } = await pool.query({ ...renewWorker, values: [workerId, poolIds()] });
      const now = Date.now();
      if (now - last.getTime() > options.leaseMs) steadySince = now;
      last = new Date(now);
      if (rowCount === 0) {
        lost = true;
        options.onLost();
      }
    } catch (error) {
      log.warn({ err: error }, 'heartbeat failed');
      steadySince = Date.now();
    } finally {
      beating = false;
    }
  }

  void beat();
  const timer = setInterval(() => void beat(), everyMs);
  return {
    last: () => last,
    // A process that was stopped comes back before its next beat can tell.
    steadyForMs: () =>
      Date.now() - last.getTime() > options.leaseMs ? 0 : Date.now() - steadySince,
    stop: () => {
      lost = true;
      clearInterval(timer);
    },
  };
}
