import { z } from 'zod';

import { defineJob } from '@millrace/jobs/authoring/define-job';
import type { Registry } from '@millrace/jobs/authoring/registry';
import { createRegistry } from '@millrace/jobs/registry/create-registry';

export const NOOP_ARGS = { userId: 42, template: 'welcome' };

/** The job that every system in the comparison runs: nothing. */
export const noop = defineJob({
  name: 'noop',
  description: 'Does nothing.',
  args: z.object({ userId: z.number(), template: z.string() }),
  newArgs: () => NOOP_ARGS,
});

/** A registry with the no-op job alone, whose handler calls `onRun`. */
export function noopRegistry(
  queue: { concurrency: number; prefetch: number },
  onRun: () => void,
): Registry {
  return createRegistry({
    definitions: [noop],
    queues: { default: queue },
    handlers: {
      noop: () =>
        Promise.resolve(() => {
          onRun();
          return Promise.resolve();
        }),
    },
  });
}
