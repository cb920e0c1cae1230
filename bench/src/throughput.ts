import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import type pg from 'pg';

import { noop, NOOP_ARGS } from './noop.ts';
import type { ThroughputOptions } from './throughput-worker.ts';

const execute = promisify(execFile);

/** Runs per second of one system over `runs` waiting no-op runs. Checks the records afterwards. */
export async function measureThroughput(
  pool: pg.Pool,
  options: ThroughputOptions,
): Promise<number> {
  await reset(pool);
  if (options.system === 'millrace') await enqueueRuns(pool, options.runs);
  else await addBareJobs(pool, options.runs);
  await pool.query('vacuum (analyze) millrace.runs, millrace.executions, gw_default._private_jobs');
  await pool.query('checkpoint');

  const { stdout, stderr } = await execute(process.execPath, [
    join(import.meta.dirname, 'throughput-worker.ts'),
    JSON.stringify(options),
  ]);
  if (stderr) process.stderr.write(stderr);
  if (options.system === 'millrace') await checkRecords(pool, options.runs);
  const { ms } = JSON.parse(stdout) as { ms: number };
  return (options.runs / ms) * 1_000;
}

/** Empties the tables that the comparisons fill. */
export async function reset(pool: pg.Pool): Promise<void> {
  await pool.query('truncate millrace.runs, millrace.executions, millrace.scheduler_jobs');
  await pool.query('truncate gw_default._private_jobs');
}

async function enqueueRuns(pool: pg.Pool, runs: number): Promise<void> {
  const client = createJobClient({ pool });
  for (let left = runs; left > 0; left -= 1_000) {
    const items = Array.from({ length: Math.min(left, 1_000) }, () => ({
      definition: noop,
      args: NOOP_ARGS,
    }));
    await client.enqueueMany(items);
  }
}

async function addBareJobs(pool: pg.Pool, runs: number): Promise<void> {
  await pool.query(
    `select count(*) from gw_default.add_jobs(array(
       select ('run', $2::json, null, null, 1000, null, 0::smallint, null)::gw_default.job_spec
         from generate_series(1, $1::integer)))`,
    [runs, JSON.stringify(NOOP_ARGS)],
  );
}

async function checkRecords(pool: pg.Pool, runs: number): Promise<void> {
  const { rows } = await pool.query<{ runs: number; executions: number; violations: number }>(
    `select (select count(*)::integer from millrace.runs where state = 'succeeded' and attempt = 1) as runs,
            (select count(*)::integer from millrace.executions where outcome = 'succeeded') as executions,
            (select count(*)::integer from millrace.invariant_violations) as violations`,
  );
  const found = rows[0];
  if (found?.runs !== runs || found.executions !== runs || found.violations !== 0) {
    throw new Error(`the records do not hold: ${JSON.stringify(found)} after ${runs} runs`);
  }
}
