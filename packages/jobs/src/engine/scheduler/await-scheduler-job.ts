import type pg from 'pg';

import type { SchedulerJob } from '../../contract/scheduler-job.ts';
import { getSchedulerJob } from './get-scheduler-job.ts';
import type { JobWaiters } from './job-waiters.ts';

/**
 * The job as {@link getSchedulerJob} tells it, once it is done or `waitMs` are over. Too many callers
 * at once are answered without waiting.
 */
export async function awaitSchedulerJob(
  pool: pg.Pool,
  waiters: JobWaiters,
  jobId: string,
  waitMs: number,
): Promise<SchedulerJob> {
  const until = Date.now() + waitMs;
  for (;;) {
    const leftMs = until - Date.now();
    // Listening comes before looking: an end in between is heard.
    const waiter = leftMs > 0 ? waiters.wait(jobId, leftMs) : null;
    try {
      const job = await getSchedulerJob(pool, jobId);
      if (job.done || !waiter) return job;
      await waiter.woken;
    } finally {
      waiter?.leave();
    }
  }
}
