import { Logger as GraphileLogger, runMigrations } from 'graphile-worker';
import type pg from 'pg';

import { SCHEMA } from './client.ts';
import type { PoolLog } from './pool.ts';
import { queueSchema } from './queue-schema.ts';

/**
 * Brings graphile-worker's schema of every queue up to date and then names the queue in
 * `millrace.queues`: a queue that stands there is complete. Returns the queues that were new.
 */
export async function migrateQueues(
  client: pg.Client,
  { pgPool, queues, log }: { pgPool: pg.Pool; queues: readonly string[]; log: PoolLog },
): Promise<string[]> {
  const created: string[] = [];
  for (const queue of queues) {
    await runMigrations({ pgPool, schema: queueSchema(queue), logger: graphileLogger(log) });
    if (await createQueue(client, queue)) created.push(queue);
  }
  return created;
}

async function createQueue(client: pg.Client, queue: string): Promise<boolean> {
  const schema = queueSchema(queue);
  await client.query('begin');
  try {
    const { rowCount } = await client.query(
      `insert into ${SCHEMA}.queues (name) values ($1) on conflict do nothing`,
      [queue],
    );
    if (rowCount === 1) {
      // graphile-worker numbers a task with its first job; racing first jobs would spend numbers.
      await client.query(
        `select from ${schema}.complete_jobs(array[(${schema}.add_job('run', run_at => 'infinity')).id])`,
      );
    }
    await client.query('commit');
    return rowCount === 1;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function graphileLogger(log: PoolLog): GraphileLogger {
  return new GraphileLogger(() => (level, message) => {
    if (level === 'error' || level === 'warning') log.warn({ from: 'graphile-worker' }, message);
  });
}
