import type pg from 'pg';
import type { Logger } from 'pino';

/** A run and the ticket by which graphile-worker delivered it. */
export interface Delivery {
  readonly runId: string;
  readonly ticket: string;
}

/** What the writers of a worker's transitions need. */
export interface TransitionOptions {
  readonly pool: pg.Pool;
  readonly workerId: string;
  /** The definitions that this worker can run. */
  readonly definitions: readonly string[];
  readonly log: Logger;
  /** Definitions with an override, and its version; see the claim. */
  readonly versions: () => readonly [definitions: readonly string[], versions: readonly number[]];
  /** Whether this worker still holds its lease: without it, a failing write is given up. */
  readonly holdsLease: () => boolean;
}
