import type { z } from 'zod';

import type { JobDefinition } from '../contract/definition.ts';
import type { RunContext } from '../contract/run-context.ts';

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
export type Enqueue<Options = EnqueueOptions> = <Definition extends JobDefinition>(
  definition: Definition,
  args: z.input<Definition['args']>,
  options?: Options,
) => Promise<EnqueuedRun>;

/**
 * How a handler enqueues: request, actor and organisation are those of its own run, whatever it says,
 * and the trace goes on from it.
 */
export type EnqueueFromRun = Enqueue<Omit<EnqueueOptions, 'context'>>;
