import { z } from 'zod';

import { defineJob } from '../../authoring/define-job.ts';

export const heartbeat = defineJob({
  name: 'heartbeat',
  description: 'Proves that runs are enqueued, delivered, executed and recorded.',
  args: z.object({}),
  schedule: '@every 1m',
  timeout: '30s',
  maxAttempts: 1,
});
