import { setTimeout as sleep } from 'node:timers/promises';

import { defineJob } from '@millrace/jobs/authoring/define-job';
import { createRegistry } from '@millrace/jobs/registry/create-registry';
import { z } from 'zod';

import { faultyDefinitions, faultyHandlers } from './faulty-jobs.ts';
import { recorded } from './recorded.ts';

/** The delay before every retry of `flaky`, without jitter: the checker knows when one is early. */
export const FLAKY_DELAY_MS = 400;

const args = z.object({});

export const quick = defineJob({
  name: 'quick',
  description: 'Sleeps up to 20 ms.',
  args,
  maxAttempts: 50,
  retry: { firstDelayMs: 10, factor: 1, jitter: 0 },
});

export const flaky = defineJob({
  name: 'flaky',
  description: 'Fails four times in ten.',
  args,
  maxAttempts: 50,
  retry: { firstDelayMs: FLAKY_DELAY_MS, factor: 1, jitter: 0 },
});

export const slow = defineJob({
  name: 'slow',
  description: 'Takes two seconds and honours its signal.',
  args,
  maxAttempts: 50,
  queue: 'batch',
  retry: { firstDelayMs: 10, factor: 1, jitter: 0 },
});

export const stuck = defineJob({
  name: 'stuck',
  description: 'Would take long, but takes a second once it has been repeated.',
  args,
  maxAttempts: 50,
  queue: 'mail',
});

/** How many `stuck` runs one worker executes at a time. */
export const STUCK_AT_ONCE = 50;

const handlers = {
  quick: recorded(() => sleep(Math.random() * 20)),
  flaky: recorded(async () => {
    await sleep(2);
    if (Math.random() < 0.4) throw new Error('flaky');
  }),
  slow: recorded(({ signal }) => sleep(2_000, undefined, { signal })),
  stuck: recorded(({ signal, attempt }) =>
    sleep(attempt === 1 ? 240_000 : 1_000, undefined, { signal }),
  ),
  ...faultyHandlers,
};

export const chaosRegistry = createRegistry({
  definitions: [quick, flaky, slow, stuck, ...faultyDefinitions],
  queues: {
    default: { concurrency: 20, prefetch: 40 },
    batch: { concurrency: 25, prefetch: 0 },
    mail: { concurrency: STUCK_AT_ONCE, prefetch: 1 },
  },
  handlers: Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [name, () => Promise.resolve(handler)]),
  ),
});
