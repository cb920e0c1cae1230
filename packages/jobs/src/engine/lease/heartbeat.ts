import type pg from 'pg';
import type { Logger } from 'pino';

import { renewWorker } from '../sql/workers.ts';

const HEARTBEAT_MS = 2_000;

export interface Heartbeat {
  readonly last: () => Date;
  stop(): void;
}

interface HeartbeatOptions {
  readonly pool: pg.Pool;
  readonly workerId: string;
  readonly poolIds: () => readonly string[];
  readonly log: Logger;
}

/** Renews the worker's row every two seconds, with the graphile pools it owns. */
export function startHeartbeat({ pool, workerId, poolIds, log }: HeartbeatOptions): Heartbeat {
  let last = new Date();
  let beating = false;

  async function beat(): Promise<void> {
    if (beating) return;
    beating = true;
    try {
      await pool.query({ ...renewWorker, values: [workerId, poolIds()] });
      last = new Date();
    } catch (error) {
      log.warn({ err: error }, 'heartbeat failed');
    } finally {
      beating = false;
    }
  }

  void beat();
  const timer = setInterval(() => void beat(), HEARTBEAT_MS);
  return { last: () => last, stop: () => clearInterval(timer) };
}
