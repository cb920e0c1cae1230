import { defineJob } from '@millrace/jobs/authoring/define-job';
import { z } from 'zod';

/** What the workers of `processes.db.test.ts` execute: it writes one line into the test's ledger. */
export const ledgerJob = defineJob({
  name: 'test.ledger',
  description: 'Notes that it was executed.',
  args: z.object({}),
  retry: { firstDelayMs: 1, maxDelayMs: 1 },
});

/** Many short runs: fetched ahead, a few of them executed at a time. */
export const ledgerQueues = {
  default: { concurrency: 10, prefetch: 50 },
  mail: { concurrency: 10, prefetch: 50 },
  batch: { concurrency: 10, prefetch: 50 },
} as const;
