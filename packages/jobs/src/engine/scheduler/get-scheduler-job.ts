import type pg from 'pg';

import { JobError } from '../../contract/errors.ts';
import { END_CODES, isTerminal, shownStatus } from '../../contract/run-state.ts';
import type { SchedulerJob } from '../../contract/scheduler-job.ts';
import { schedulerJob, type SchedulerJobRow } from '../sql/scheduler-job.ts';

/**
 * What `GET /internal/jobs/{jobId}` answers. Throws `job_not_found` for an id that no POST returned,
 * whether such a run exists or not.
 */
export async function getSchedulerJob(pool: pg.Pool, jobId: string): Promise<SchedulerJob> {
  const { rows } = await pool.query<SchedulerJobRow>({ ...schedulerJob, values: [jobId] });
  const row = rows[0];
  if (!row) throw new JobError('job_not_found', 'No POST to this service has returned this id.');
  const result = counts(row.result);
  return {
    jobId: row.run_id,
    type: row.definition,
    status: shownStatus(row.state, row.run_at ?? new Date(0), row.now),
    done: isTerminal(row.state),
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    enqueuedAt: row.enqueued_at.toISOString(),
    startedAt: row.started_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
    ...(result && { result }),
    ...(row.end_code && { error: { code: row.end_code, message: END_CODES[row.end_code] } }),
  };
}

/** The numbers of a result: whatever else a handler reported is not the scheduler's business. */
function counts(
  result: Readonly<Record<string, unknown>> | null,
): Readonly<Record<string, number>> | null {
  if (!result) return null;
  const numbers = Object.entries(result).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return numbers.length > 0 ? Object.fromEntries(numbers) : null;
}
