import type { z } from 'zod';

import type { JobDefinition } from '../contract/definition.ts';

/** What travels with a run from the request that caused it to the handler: never permissions. */
export interface RunContext {
  readonly requestId?: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export interface EnqueueOptions {
  /** Not before this instant. */
  readonly runAt?: Date;
  /** Not before this many milliseconds from now. */
  readonly delayMs?: number;
  /** −100 … 100, lower first; the definition's unless given. */
  readonly priority?: number;
  /** Searchable and shown: keep personal data out. At most 10, of 1 to 100 characters. */
  readonly tags?: readonly string[];
  /** While a run of this definition with this key has not finished, it is returned instead. */
  readonly dedupe?: { readonly key: string };
  readonly context?: RunContext;
}

export interface EnqueuedRun {
  readonly runId: string;
  /** An unfinished run with the same dedupe key was there; nothing was added. */
  readonly duplicate: boolean;
}

/**
 * Adds a run of a definition. Throws `JobError` `invalid_job_args` when the arguments do not satisfy
 * the definition's schema, and the driver's error when the database refuses.
 */
export type Enqueue = <Definition extends JobDefinition>(
  definition: Definition,
  args: z.input<Definition['args']>,
  options?: EnqueueOptions,
) => Promise<EnqueuedRun>;
