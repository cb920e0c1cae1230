import type pg from 'pg';
import type { Logger } from 'pino';

import { type ReapedWorker, reapWorkers, sweep } from '../sql/leases.ts';
import type { Heartbeat } from './heartbeat.ts';

const SWEEP_RUNS = 50_000;

interface ReaperOptions {
  readonly pool: pg.Pool;
  readonly heartbeat: Heartbeat;
  readonly leaseMs: number;
  readonly log: Logger;
}

/**
 * Takes lost workers apart and repairs what else went astray. Every worker does it; the database sees
 * to it that each case is treated once. A worker judges others only after a lease's time of steady
 * heartbeats of its own: when the database comes back, everybody gets the time to say so.
 */
export function startReaper({ pool, heartbeat, leaseMs, log }: ReaperOptions): { stop(): void } {
  let cameTo: string | null = null;

  async function reap(): Promise<void> {
    if (heartbeat.steadyForMs() < leaseMs) return;
    const { rows } = await pool.query<ReapedWorker>({ ...reapWorkers, values: [leaseMs] });
    for (const lost of rows) {
      log.warn({ lost }, 'a worker was lost; its runs go to others');
    }
  }

  async function repair(): Promise<void> {
    if (heartbeat.steadyForMs() < leaseMs) return;
    const { rows } = await pool.query<{ came_to: string | null; repaired: number }>({
      ...sweep,
      values: [cameTo, SWEEP_RUNS, leaseMs],
    });
    cameTo = rows[0]?.came_to ?? null;
    const repaired = rows[0]?.repaired ?? 0;
    if (repaired > 0) log.warn({ repaired }, 'runs that had gone astray were repaired');
  }

  const reaping = every(leaseMs / 7.5, reap, log);
  const sweeping = every(leaseMs / 1.5, repair, log);
  return {
    stop() {
      clearInterval(reaping);
      clearInterval(sweeping);
    },
  };
}

function every(ms: number, duty: () => Promise<void>, log: Logger): NodeJS.Timeout {
  let busy = false;
  return setInterval(() => {
    if (busy) return;
    busy = true;
    duty()
      .catch((error: unknown) => log.warn({ err: error }, 'maintenance failed; it is tried again'))
      .finally(() => (busy = false));
  }, ms);
}
