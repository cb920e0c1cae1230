import { z } from 'zod';

import { defineJob } from '../../authoring/define-job.ts';

export const reindexRuns = defineJob({
  name: 'reindex_runs',
  description: 'Rebuilds the full-text search index over runs and their errors.',
  args: z.object({}),
  clock: 'kestra',
  queue: 'batch',
  timeout: '2h',
  maxAttempts: 5,
});
