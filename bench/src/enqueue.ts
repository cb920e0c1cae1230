import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import { Logger, makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';

import { noop, NOOP_ARGS } from './noop.ts';
import { reset } from './throughput.ts';

const CONNECTIONS = 20;

/** Awaited single enqueues per second with `inFlight` callers in one process. */
export async function measureEnqueue(
  url: string,
  system: 'millrace' | 'graphile-worker',
  inFlight: number,
  seconds: number,
): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  await reset(pool);
  const utils = await makeWorkerUtils({
    pgPool: pool,
    schema: 'gw_default',
    logger: new Logger(() => () => undefined),
  });
  const client = createJobClient({ pool });
  const add: () => Promise<unknown> =
    system === 'millrace'
      ? () => client.enqueue(noop, NOOP_ARGS)
      : () => utils.addJob('run', NOOP_ARGS);

  await Promise.all(Array.from({ length: inFlight }, add)); // connections, plans
  let added = 0;
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1_000;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < endAt) {
        await add();
        added++;
      }
    }),
  );
  const perSecond = (added / (performance.now() - startedAt)) * 1_000;
  await utils.release();
  await pool.end();
  return perSecond;
}
