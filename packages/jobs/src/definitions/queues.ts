import type { QueueSettings } from '../contract/queue.ts';

/**
 * The queues of this installation. `pnpm migrate` creates what is new here. Work that takes long
 * belongs into `batch`, which its own worker processes run, so that it never delays the rest.
 */
export const queues = {
  default: { concurrency: 10, prefetch: 0 },
  batch: { concurrency: 2, prefetch: 0 },
  mail: { concurrency: 5, prefetch: 0 },
} as const satisfies Record<string, QueueSettings>;
