import { defineInlineJob } from '../../authoring/define-inline-job.ts';

export const sweepOrphans = defineInlineJob({
  name: 'sweep_orphans',
  description: 'Removes stored bytes (log chunks, exports) that no run refers to.',
  limit: 200,
});
