import { setTimeout as sleep } from 'node:timers/promises';

import { defineJob } from '@millrace/jobs/authoring/define-job';
import type { HandlerContext } from '@millrace/jobs/authoring/handler';
import type { ErasedHandler } from '@millrace/jobs/authoring/registry';
import { createRegistry } from '@millrace/jobs/registry/create-registry';
import { z } from 'zod';

import { endInLedger, startInLedger } from './ledger.ts';

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

export const deadly = defineJob({
  name: 'deadly',
  description: 'Ends its process, every time.',
  args,
  maxAttempts: 50,
});

const handlers = {
  quick: () => sleep(Math.random() * 20),
  flaky: async () => {
    await sleep(2);
    if (Math.random() < 0.4) throw new Error('flaky');
  },
  slow: (signal: AbortSignal) => sleep(2_000, undefined, { signal }),
  deadly: () => process.exit(9),
};

/** Wraps the work of a job in its two ledger entries. */
function recorded(work: (signal: AbortSignal) => Promise<void>): ErasedHandler {
  return async (_args: never, ctx: HandlerContext) => {
    await startInLedger(ctx.db, ctx.runId, ctx.execution);
    await work(ctx.signal);
    await endInLedger(ctx.db, ctx.runId, ctx.execution);
  };
}

const QUEUES = {
  default: { concurrency: 20, prefetch: 40 },
  batch: { concurrency: 25, prefetch: 0 },
};

export const chaosRegistry = createRegistry({
  definitions: [quick, flaky, slow, deadly],
  queues: QUEUES,
  handlers: {
    quick: () => Promise.resolve(recorded(handlers.quick)),
    flaky: () => Promise.resolve(recorded(handlers.flaky)),
    slow: () => Promise.resolve(recorded(handlers.slow)),
    deadly: () => Promise.resolve(recorded(handlers.deadly)),
  },
});
