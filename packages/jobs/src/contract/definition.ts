import type { z } from 'zod';

/** Names of definitions: public API. */
export const DEFINITION_NAME = /^[a-z][a-z0-9_.]{1,62}$/;

/**
 * Who triggers a definition by time: Millrace's own schedule, the scheduler (Kestra, through
 * `POST /internal/jobs/{name}`), or nobody. Exactly one, so that nothing is driven by two clocks.
 */
export type JobClock = 'builtin' | 'kestra' | 'none';

/**
 * What a clock or a person starting a run meets when one of the same definition has not finished:
 * `coalesce` joins the one that waits (one runs, one waits), `skip` starts nothing, `allow` starts
 * another beside it. Runs enqueued by application code and events never mind each other.
 */
export type OverlapPolicy = 'coalesce' | 'skip' | 'allow';

/**
 * What becomes of slots that came while nothing was running and that are later than a minute by now:
 * `skip` all, `once` runs the latest of them, a number runs the latest that many.
 */
export type MissedPolicy = 'skip' | 'once' | number;

/** Exponential back-off between attempts; see `engine/retry-policy.ts`. */
export interface RetryPolicy {
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** Share of the delay by which chance lengthens or shortens it, 0 … 1. */
  readonly jitter: number;
}

/** A named kind of job whose runs wait in a queue and are executed by workers. */
export interface JobDefinition<Name extends string = string, Args extends z.ZodType = z.ZodType> {
  readonly form: 'queued';
  readonly name: Name;
  readonly description: string;
  /** Names that it had before: their overrides and history are its own. */
  readonly formerNames: readonly string[];
  readonly enabled: boolean;
  readonly args: Args;
  /** Arguments for triggers that bring none. */
  readonly newArgs: ((trigger: { slot: Date | null }) => z.input<Args>) | undefined;
  readonly clock: JobClock;
  /** Five cron fields, `@every` with a duration, or empty. Only where the clock is `builtin`. */
  readonly schedule: string;
  /** IANA name of the zone in which a cron schedule is read. */
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly queue: string;
  /** −100 … 100; lower runs first. */
  readonly priority: number;
  readonly retry: RetryPolicy;
}

/** A capped kind of job that the web process executes while the scheduler waits for the answer. */
export interface InlineJobDefinition<Name extends string = string> {
  readonly form: 'inline';
  readonly name: Name;
  readonly description: string;
  readonly formerNames: readonly string[];
  readonly enabled: boolean;
  readonly clock: 'kestra';
  /** The most items one call may handle. */
  readonly limit: number;
  /** At most 10 s. */
  readonly timeoutMs: number;
}

export type AnyDefinition = JobDefinition | InlineJobDefinition;
