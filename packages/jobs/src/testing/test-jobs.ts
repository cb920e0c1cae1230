import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import type { JobDefinition } from '../contract/definition.ts';

/** Retries that no test has to wait for. */
const retry = { firstDelayMs: 1, factor: 1, maxDelayMs: 1, jitter: 0 } as const;
const noArgs = z.object({});

/** Below what authors may ask for, so that tests end soon. */
function withTimeoutMs<Definition extends JobDefinition>(
  definition: Definition,
  timeoutMs: number,
): Definition {
  return Object.freeze({ ...definition, timeoutMs });
}

export const ok = defineJob({
  name: 'test.ok',
  description: 'Succeeds with what it was given.',
  args: z.object({ note: z.string().default('none') }),
  retry,
});

export const flaky = defineJob({
  name: 'test.flaky',
  description: 'Fails a number of times, then succeeds.',
  args: z.object({ failures: z.number() }),
  newArgs: () => ({ failures: 0 }),
  retry,
});

/** Goes on until the test releases it or its signal fires. */
export const slow = defineJob({
  name: 'test.slow',
  description: 'Takes as long as the test wants.',
  args: noArgs,
  maxAttempts: 2,
  retry,
});

/** Ends at its timeout. */
export const overdue = withTimeoutMs(
  defineJob({
    name: 'test.overdue',
    description: 'Runs into its timeout.',
    args: noArgs,
    maxAttempts: 2,
    retry,
  }),
  50,
);

/** Goes on until the test releases it, whatever its signal says. */
export const deaf = defineJob({
  name: 'test.deaf',
  description: 'Ignores its signal.',
  args: noArgs,
  retry,
});

export const deafAndOverdue = withTimeoutMs(
  defineJob({
    name: 'test.deaf_and_overdue',
    description: 'Ignores its signal after its timeout.',
    args: noArgs,
    maxAttempts: 1,
    retry,
  }),
  50,
);

export const THROWN = [
  'error',
  'text',
  'null',
  'undefined',
  'getters',
  'unaskable',
  'secret',
] as const;

export const throwing = defineJob({
  name: 'test.throwing',
  description: 'Throws what it is told to.',
  args: z.object({ what: z.enum(THROWN), secret: z.string().optional() }),
  newArgs: () => ({ what: 'error' as const }),
  maxAttempts: 1,
  retry,
});

export const RETURNED = [
  'text',
  'number',
  'array',
  'circle',
  'bigint',
  'huge',
  'map',
  'date',
  'function',
  'refusing',
  'error',
  'unaskable',
] as const;

export const returning = defineJob({
  name: 'test.returning',
  description: 'Returns junk.',
  args: z.object({ what: z.enum(RETURNED) }),
  newArgs: () => ({ what: 'text' as const }),
  maxAttempts: 1,
  retry,
});

export const snoozing = defineJob({
  name: 'test.snoozing',
  description: 'Snoozes a number of times, then succeeds.',
  args: z.object({ times: z.number() }),
  newArgs: () => ({ times: 0 }),
  maxAttempts: 1,
  retry,
});

const howArgs = z.object({ how: z.enum(['returned', 'thrown']).default('returned') });

export const fatally = defineJob({
  name: 'test.fatally',
  description: 'Fails for good.',
  args: howArgs,
  retry,
});

export const cancelling = defineJob({
  name: 'test.cancelling',
  description: 'Finds that there is nothing left to do.',
  args: howArgs,
  retry,
});

/** Its handler enqueues a run of `test.ok`. */
export const parent = defineJob({
  name: 'test.parent',
  description: 'Enqueues another run.',
  args: noArgs,
  retry,
});

/** The ones that a scheduler may trigger, by their overlap policy. */
export const triggered = {
  coalesce: defineJob({
    name: 'test.coalesced',
    description: 'One runs, one waits.',
    args: z.object({ slot: z.string().nullable().default(null) }),
    newArgs: ({ slot }) => ({ slot: slot?.toISOString() ?? null }),
    clock: 'kestra',
    retry,
  }),
  skip: defineJob({
    name: 'test.skipped',
    description: 'One runs or waits.',
    args: noArgs,
    clock: 'kestra',
    overlap: 'skip',
    retry,
  }),
  allow: defineJob({
    name: 'test.allowed',
    description: 'Any number runs.',
    args: noArgs,
    clock: 'kestra',
    overlap: 'allow',
    retry,
  }),
} as const;

export const definitions = [
  ok,
  flaky,
  slow,
  overdue,
  deaf,
  deafAndOverdue,
  throwing,
  returning,
  snoozing,
  fatally,
  cancelling,
  parent,
  triggered.coalesce,
  triggered.skip,
  triggered.allow,
] as const;
