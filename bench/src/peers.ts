import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type pg from 'pg';
import { PgBoss } from 'pg-boss';

import { NOOP_ARGS } from './noop.ts';
import type { PgBossOptions } from './pg-boss-worker.ts';
import { type Comparison, compare } from './report.ts';
import { measureThroughput } from './throughput.ts';

const execute = promisify(execFile);

/** The ways in which pg-boss is shown: fewer runs where it is slow, so that all take seconds. */
const PG_BOSS = [
  { name: 'batches of 100', batchSize: 100, concurrency: 4, pollingIntervalSeconds: 0.5, share: 1 },
  {
    name: 'batches of 1',
    batchSize: 1,
    concurrency: 24,
    pollingIntervalSeconds: 0.5,
    share: 0.005,
  },
  { name: 'its defaults', batchSize: 1, concurrency: 1, pollingIntervalSeconds: 2, share: 0.0002 },
] as const;

/** No-op runs per second beside pg-boss, on the same server. */
export async function comparePeers(
  pool: pg.Pool,
  url: string,
  { pairs, runs, wanted }: { pairs: number; runs: number; wanted: (name: string) => boolean },
): Promise<Comparison[]> {
  const found: Comparison[] = [];
  for (const { name: way, share, ...settings } of PG_BOSS) {
    const name = `runs/s beside pg-boss, ${way}`;
    if (!wanted(name)) continue;
    const boss = { url, runs: Math.max(5, Math.round(runs * share)), ...settings };
    found.push(
      await compare(name, null, pairs, {
        yardstick: () => measurePgBoss(pool, boss),
        millrace: () =>
          measureThroughput(pool, {
            url,
            system: 'millrace',
            concurrency: 24,
            prefetch: 176,
            runs,
          }),
      }),
    );
  }
  return found;
}

async function measurePgBoss(pool: pg.Pool, options: PgBossOptions): Promise<number> {
  await pool.query('drop schema if exists pgboss cascade');
  const boss = new PgBoss({ connectionString: options.url, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('noop');
  for (let left = options.runs; left > 0; left -= 1_000) {
    const jobs = Array.from({ length: Math.min(left, 1_000) }, () => ({ data: NOOP_ARGS }));
    await boss.insert('noop', jobs);
  }
  await boss.stop({ graceful: false });
  await pool.query('vacuum (analyze) pgboss.job');
  const { stdout } = await execute(process.execPath, [
    join(import.meta.dirname, 'pg-boss-worker.ts'),
    JSON.stringify(options),
  ]);
  return (options.runs / (JSON.parse(stdout) as { ms: number }).ms) * 1_000;
}
