import { defineInlineJob } from '../../authoring/define-inline-job.ts';

export const sweepIdleSessions = defineInlineJob({
  name: 'sweep_idle_sessions',
  description: 'Deletes expired console sessions.',
  limit: 500,
});
