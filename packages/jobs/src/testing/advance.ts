import type { TestDatabase } from '@millrace/db/testing';

import { type Duration, durationMs } from '../contract/duration.ts';
import { type AdvancedRuns, advanceRuns, queueNames } from './sql/advance-runs.ts';

/**
 * The fake clock of a test: lets waiting runs see `duration` pass. It moves no clock. In one statement it
 * takes `duration` off the time for which each run in the future waits, and off its ticket's: what comes
 * within `duration` is due now, the rest is that much nearer, and the order stays. `Date`, timers,
 * `now()` and the times a handler sees are real. Returns how many runs were moved and how many of them are
 * due; follow it with `drain`.
 */
export async function advance(
  database: Pick<TestDatabase, 'pool'>,
  duration: Duration,
): Promise<AdvancedRuns> {
  const queues = await database.pool.query<{ name: string }>(queueNames);
  const { rows } = await database.pool.query<AdvancedRuns>(
    advanceRuns(queues.rows.map(({ name }) => name)),
    [durationMs(duration)],
  );
  return rows[0] ?? { moved: 0, due: 0 };
}
