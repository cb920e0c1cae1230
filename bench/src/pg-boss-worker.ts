/**
 * One process of the comparison with pg-boss: works off what waits in the database, then reports how
 * long it took, from its first job until nothing was left. Options come as JSON in argv.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';
import { PgBoss } from 'pg-boss';

export interface PgBossOptions {
  readonly url: string;
  readonly runs: number;
  /** A batch is one unit to pg-boss: no job of it has an end of its own. */
  readonly batchSize: number;
  readonly concurrency: number;
  /** 2 by default, 0.5 at least. */
  readonly pollingIntervalSeconds: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as PgBossOptions;
const pool = new pg.Pool({ connectionString: options.url, max: 1 });
const boss = new PgBoss({ connectionString: options.url, supervise: false, schedule: false });
boss.on('error', (error) => console.error(error));
await boss.start();

let firstAt = 0;
let done = 0;
const allRan = Promise.withResolvers<void>();
await boss.work(
  'noop',
  {
    batchSize: options.batchSize,
    localConcurrency: options.concurrency,
    pollingIntervalSeconds: options.pollingIntervalSeconds,
    burstWhenBatchFull: true, // the fastest that it can be told to be
  },
  (jobs) => {
    firstAt ||= performance.now();
    done += jobs.length;
    if (done >= options.runs) allRan.resolve();
    return Promise.resolve();
  },
);
await allRan.promise;
for (;;) {
  const { rows } = await pool.query<{ left: boolean }>(
    `select exists (select from pgboss.job where name = 'noop' and state < 'completed') as left`,
  );
  if (!rows[0]?.left) break;
  await sleep(5);
}
process.stdout.write(JSON.stringify({ ms: performance.now() - firstAt }));
await boss.stop({ graceful: false });
await pool.end();
