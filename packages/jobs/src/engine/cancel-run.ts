import type pg from 'pg';

import { cancelRun as statement } from './sql/leases.ts';

/**
 * What a cancel met: a waiting run that is `cancelled` now; a running one whose handler has been
 * `requested` to end; one that had `finished`; none of that id (`unknown`).
 */
export type CancelVerdict = 'cancelled' | 'requested' | 'finished' | 'unknown';

/**
 * Asks for the end of a run. The signal of a running handler fires within two seconds; the run ends as
 * cancelled unless its handler succeeds all the same.
 */
export async function cancelRun(pool: pg.Pool, runId: string): Promise<CancelVerdict> {
  const { rows } = await pool.query<{ found: CancelVerdict }>(statement, [runId]);
  return rows[0]?.found ?? 'unknown';
}
