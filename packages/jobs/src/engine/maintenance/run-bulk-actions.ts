import { setTimeout as sleep } from 'node:timers/promises';

import type pg from 'pg';
import type { Logger } from 'pino';

import { runBulkBatch, runningBulkActions } from '../sql/bulk-actions.ts';

/** How often a worker looks for bulk actions, and for runs that were locked when their turn came. */
const LOOK_MS = 500;

interface BulkDutyOptions {
  readonly pool: pg.Pool;
  readonly log: Logger;
}

/**
 * Carries on operators' bulk actions, a batch at a time. Every worker does it; the database sees to it
 * that each batch is done once, and at the rate (docs/adr/0012-bulk-actions.md). A batch is a
 * transaction of its own, so a worker may end between two of them or within one.
 */
export function startBulkActions({ pool, log }: BulkDutyOptions): { stop(): void } {
  const stopping = new AbortController();
  const stopped = (): boolean => stopping.signal.aborted;
  const pause = (ms: number): Promise<void> =>
    sleep(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);

  const failed = (error: unknown): number => {
    // Once stopped, its connections are gone.
    if (!stopped()) log.warn({ err: error }, 'bulk actions cannot go on; it is tried again');
    return LOOK_MS;
  };

  /** A batch of each bulk action that is due. Answers in how many milliseconds to look again. */
  async function runDueBatches(): Promise<number> {
    const { rows } = await pool.query<{ id: string; waitMs: number }>(runningBulkActions);
    let waitMs = LOOK_MS;
    for (const bulk of rows) {
      if (stopped()) break;
      // One that fails holds up no other.
      const next = bulk.waitMs > 0 ? bulk.waitMs : await runBatch(pool, bulk.id).catch(failed);
      waitMs = Math.min(waitMs, next);
    }
    return waitMs;
  }

  async function run(): Promise<void> {
    while (!stopped()) await pause(await runDueBatches().catch(failed));
  }

  void run();
  return { stop: () => stopping.abort() };
}

/** Answers in how many milliseconds the action is to be looked at again. */
async function runBatch(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ treated: number; waitMs: number }>({
    ...runBulkBatch,
    values: [id],
  });
  const batch = rows[0];
  // Nothing treated although it was due: what remains is locked, or another worker is at it.
  const stuck = !batch || (batch.treated === 0 && batch.waitMs === 0);
  return stuck ? LOOK_MS : batch.waitMs;
}
