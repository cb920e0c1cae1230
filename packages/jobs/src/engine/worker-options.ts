import type { Logger } from 'pino';

import type { Registry } from '../authoring/registry.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  readonly registry: Registry;
  /** The queues whose runs this process executes. */
  readonly queues: readonly string[];
  readonly log: Logger;
  /** The deployed version, shown to operators. */
  readonly version: string;
  /** How long running attempts may go on after `stop`; 20 s unless given. */
  readonly stopTimeoutMs?: number;
  /** How long the worker may be silent before others take its runs; 15 s unless given, the same everywhere. */
  readonly leaseMs?: number;
  /** How often each runner looks for delayed work; 1 s unless given. */
  readonly pollIntervalMs?: number;
}
