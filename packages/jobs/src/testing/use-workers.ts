import type { TestDatabase } from '@millrace/db/testing';
import { pino } from 'pino';
import { afterEach } from 'vitest';

import { startWorker, type RunningWorker } from '../engine/worker.ts';
import type { WorkerOptions } from '../engine/worker-options.ts';
import { createTestRegistry, type TestRegistry } from './test-handlers.ts';

export interface StartedWorker extends TestRegistry {
  readonly worker: RunningWorker;
  /** What the worker logged, as objects of pino. */
  readonly logged: readonly LogLine[];
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/**
 * Starts workers within the test's process and stops them after each test. Call it after
 * `useDatabase()`, so that they are stopped before the invariants are looked at.
 */
export function useWorkers(
  database: TestDatabase,
): (options?: Partial<WorkerOptions> & { readonly jobs?: TestRegistry }) => Promise<StartedWorker> {
  let started: StartedWorker[] = [];

  afterEach(async () => {
    const stopping = started;
    started = [];
    for (const { releaseAll } of stopping) releaseAll();
    await Promise.all(stopping.map(({ worker }) => worker.stop({ timeoutMs: 10_000 })));
  });

  return async ({ jobs = createTestRegistry(), ...options } = {}) => {
    const logged: LogLine[] = [];
    const log = pino(
      { level: 'info', base: null },
      { write: (line) => logged.push(JSON.parse(line) as LogLine) },
    );
    const worker = await startWorker({
      databaseUrl: database.url,
      registry: jobs.registry,
      queues: ['default'],
      log,
      version: 'test',
      pollIntervalMs: 50,
      ...options,
    });
    const entry = { ...jobs, worker, logged };
    started.push(entry);
    return entry;
  };
}
