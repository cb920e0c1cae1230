import { setTimeout as sleep } from 'node:timers/promises';

import type { TestDatabase } from '@millrace/db/testing';
import { type Logger, pino } from 'pino';

import type { Registry } from '../authoring/registry.ts';
import { startWorker } from '../engine/worker.ts';
import { type DueRun, dueRun } from './sql/due-run.ts';
import { type WorkerExecution, workerExecutions } from './sql/worker-executions.ts';

export interface Drained {
  /** Executions there were, those before a retry included. */
  readonly executions: number;
  /** Runs that were executed, by what has become of them. */
  readonly succeeded: number;
  readonly retrying: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Runs of the database that wait now, executed before or not. */
  readonly waiting: number;
  /** What went wrong, an entry per failed execution: `send_mail: Error: no such mailbox`. */
  readonly errors: readonly string[];
}

export interface DrainOptions {
  /** Silent unless given. */
  readonly log?: Logger;
  /** It throws when runs are still due after this long; 15 s unless given. */
  readonly deadlineMs?: number;
}

const LOOK_EVERY_MS = 10;
const POLL_MS = 25;
/** A run that is due this soon is waited for, so that retries after milliseconds are part of a drain. */
const SOON_MS = 100;

/**
 * Executes every run that is due, and those that these enqueue, until none is left; returns what happened.
 * A worker of the real engine does it: it is started on all queues of the registry and stopped at the end.
 * A run that waits for a later time stays; `advance` makes it due. Runs of definitions that the registry
 * does not know are left alone.
 */
export async function drain(
  database: Pick<TestDatabase, 'url' | 'pool' | 'db'>,
  registry: Registry,
  { log = pino({ level: 'silent' }), deadlineMs = 15_000 }: DrainOptions = {},
): Promise<Drained> {
  const queues = [...registry.queues.keys()];
  const what = [[...registry.definitions.keys()], queues, SOON_MS];
  const look = async () => (await database.pool.query<DueRun>(dueRun, what)).rows[0];

  const worker = await startWorker({
    databaseUrl: database.url,
    registry,
    queues,
    log,
    version: 'drain',
    pollIntervalMs: POLL_MS,
  });
  try {
    const giveUpAt = Date.now() + deadlineMs;
    for (let run = await look(); run; run = await look()) {
      if (Date.now() > giveUpAt) {
        throw new Error(
          `not drained in ${deadlineMs} ms: a run of ${run.definition} is ${run.state}`,
        );
      }
      await sleep(LOOK_EVERY_MS);
    }
    await worker.stop();
  } catch (error) {
    await worker.stop({ timeoutMs: 0 });
    throw error;
  }
  return report(database, worker.id());
}

/** Not those that ended by an outcome of the handler's choice. */
const WENT_WRONG: ReadonlySet<string> = new Set(['failed', 'timed_out', 'lost']);

async function report(
  { pool, db }: Pick<TestDatabase, 'pool' | 'db'>,
  workerId: string,
): Promise<Drained> {
  const { rows } = await pool.query<WorkerExecution>(workerExecutions, [workerId]);
  const states = [...new Map(rows.map((row) => [row.run_id, row.state])).values()];
  const inState = (state: string): number => states.filter((each) => each === state).length;
  return {
    executions: rows.length,
    succeeded: inState('succeeded'),
    retrying: inState('retrying'),
    failed: inState('failed'),
    cancelled: inState('cancelled'),
    waiting: await db.run.count({
      where: { queue: { not: null }, state: { in: ['queued', 'retrying'] } },
    }),
    errors: rows.filter(({ outcome }) => WENT_WRONG.has(outcome)).map(describe),
  };
}

function describe({ definition, outcome, error_name, error_message }: WorkerExecution): string {
  return `${definition}: ${error_name === null ? outcome : `${error_name}: ${error_message ?? ''}`}`;
}
