import { z } from 'zod';

import { defineJob } from '../../authoring/define-job.ts';

export const pruneRuns = defineJob({
  name: 'prune_runs',
  description: 'Erases what runs worked on, and removes runs, when their time is over.',
  args: z.object({}),
  schedule: '@every 5m',
  queue: 'batch',
  timeout: '30m',
  maxAttempts: 3,
});
