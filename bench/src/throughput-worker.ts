/**
 * One process of the throughput comparison: works off what waits in the database, then reports how
 * long it took, from its first job until nothing was left. Options come as JSON in argv.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { startWorker } from '@millrace/jobs/engine/worker';
import { Logger, run } from 'graphile-worker';
import pg from 'pg';
import { pino } from 'pino';

import { noopRegistry } from './noop.ts';

export interface ThroughputOptions {
  readonly url: string;
  readonly system: 'millrace' | 'graphile-worker';
  readonly concurrency: number;
  /** Tickets fetched beyond the concurrency (millrace), or size of the local queue (bare). */
  readonly prefetch: number;
  readonly runs: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as ThroughputOptions;
const pool = new pg.Pool({ connectionString: options.url, max: 1 });

let firstAt = 0;
let done = 0;
const allRan = Promise.withResolvers<void>();
const onRun = (): void => {
  firstAt ||= performance.now();
  if (++done === options.runs) allRan.resolve();
};

async function startMillrace(): Promise<() => Promise<void>> {
  const worker = await startWorker({
    databaseUrl: options.url,
    registry: noopRegistry(options, onRun),
    queues: ['default'],
    log: pino({ level: 'warn' }, pino.destination(2)),
    version: 'bench',
  });
  return () => worker.stop();
}

async function startBare(): Promise<() => Promise<void>> {
  const runner = await run({
    connectionString: options.url,
    maxPoolSize: Math.min(options.concurrency + 4, 20),
    schema: 'gw_default',
    noHandleSignals: true,
    events: new EventEmitter().setMaxListeners(0),
    logger: new Logger(() => () => undefined),
    taskList: { run: onRun },
    preset: {
      worker: {
        concurrentJobs: options.concurrency,
        localQueue: { size: options.prefetch },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  return () => runner.stop();
}

const stop = await (options.system === 'millrace' ? startMillrace() : startBare());
await allRan.promise;
for (;;) {
  const { rows } = await pool.query<{ left: boolean }>(
    `select exists (select from gw_default._private_jobs)
         or exists (select from millrace.runs where finished_at is null) as left`,
  );
  if (!rows[0]?.left) break;
  await sleep(5);
}
process.stdout.write(JSON.stringify({ ms: performance.now() - firstAt }));
await stop();
await pool.end();
