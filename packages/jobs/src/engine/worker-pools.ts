import { setTimeout as sleep } from 'node:timers/promises';

import { createPool } from '@millrace/db/pool';
import type pg from 'pg';

import type { WorkerOptions } from './worker-options.ts';

/** The pools of connections of one worker. */
export interface WorkerPools {
  /** For claims, endings and maintenance. */
  readonly writers: pg.Pool;
  /** For the heartbeat alone: nothing may keep it waiting. */
  readonly leases: pg.Pool;
  /** For log lines and progress, which must hold up neither claims nor endings. */
  readonly notes: pg.Pool;
  /** For the handlers' `db`. */
  readonly handlers: pg.Pool;
  /** Opens the pool of a queue's runner. */
  runner(queue: string, connections: number): pg.Pool;
  close(): Promise<void>;
}

/** Longer than any statement of the engine takes; a connection that is silent for longer is dead. */
const STATEMENT_TIMEOUT_MS = 10_000;
const LEASE_STATEMENT_TIMEOUT_MS = 4_000;
const CLOSE_MS = 2_000;

export function openWorkerPools({ databaseUrl, log }: WorkerOptions): WorkerPools {
  const opened: pg.Pool[] = [];
  const open = (use: string, max: number, statementTimeoutMs?: number): pg.Pool => {
    const pool = createPool({
      connectionString: databaseUrl,
      max,
      applicationName: `millrace worker ${use}`,
      log,
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
    });
    opened.push(pool);
    return pool;
  };
  return {
    writers: open('writers', 4, STATEMENT_TIMEOUT_MS),
    leases: open('leases', 1, LEASE_STATEMENT_TIMEOUT_MS),
    notes: open('notes', 1, STATEMENT_TIMEOUT_MS),
    handlers: open('handlers', 10),
    // Without a limit a fetch over a dead connection would wait for ever, and the worker seem healthy.
    runner: (queue, connections) => open(queue, connections, STATEMENT_TIMEOUT_MS),
    // A handler that ignores its signal may keep a connection for ever.
    async close() {
      const ended = Promise.allSettled(opened.map((pool) => pool.end()));
      await Promise.race([ended, sleep(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
