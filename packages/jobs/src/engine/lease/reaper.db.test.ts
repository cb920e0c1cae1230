import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { ok, slow } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createJobClient } from '../enqueue-run.ts';

const database = useDatabase();
const start = useWorkers(database);
const client = () => createJobClient({ pool: database.pool });
const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const query = async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await database.pool.query(text, values)).rows as Row[];

/** A worker that has claimed the run and was heard of for the last time a minute ago. */
async function claimedBySilentWorker(runId: string): Promise<string> {
  const worker = randomUUID();
  await query(
    `insert into millrace.workers (id, host, pid, version, queues, definitions, seen_at)
     values ($1, 'gone', 1, 'test', '{default}', '{}', now() - interval '1 minute')`,
    [worker],
  );
  await query(
    `update millrace.runs set state = 'running', execution = execution + 1, attempt = attempt + 1,
            worker_id = $2, started_at = now() - interval '1 minute' where id = $1`,
    [runId, worker],
  );
  return worker;
}
const reap = (leaseMs = 15_000) => query('select * from millrace.reap_workers($1)', [leaseMs]);
const sweep = () => query<{ repaired: number }>('select * from millrace.sweep(null, 1000, 15000)');

describe('reapWorkers', () => {
  it('gives the runs of a silent worker to others, charged as lost', async () => {
    const { runId } = await client().enqueue(ok, { note: 'x' });
    const worker = await claimedBySilentWorker(runId);
    expect(await reap()).toEqual([{ worker_id: worker, host: 'gone', pid: 1, runs: 1 }]);
    expect(await run(runId)).toMatchObject({ state: 'retrying', attempt: 1, losses: 1 });
    await start();
    const ended = await until('it is over', async () => {
      const found = await run(runId);
      return found.finishedAt && found;
    });
    expect(ended).toMatchObject({ state: 'succeeded', attempt: 2, execution: 2 });
    const history = await database.db.execution.findMany({
      where: { runId },
      orderBy: { execution: 'asc' },
    });
    expect(history.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
  });

  it('leaves a worker alone that has been heard of', async () => {
    await start();
    expect(await reap()).toEqual([]);
  });

  it('treats each worker once when several reap at the same time', async () => {
    const { runId } = await client().enqueue(ok, { note: 'x' });
    await claimedBySilentWorker(runId);
    const found = await Promise.all(Array.from({ length: 8 }, () => reap()));
    expect(found.flat()).toHaveLength(1);
    expect(await run(runId)).toMatchObject({ execution: 1, losses: 1 });
    await query(`select millrace.cancel_run($1)`, [runId]);
  });

  it('fails a run whose attempts are used up', async () => {
    const { runId } = await client().enqueue(slow, {});
    await query('update millrace.runs set max_attempts = 1 where id = $1', [runId]);
    await claimedBySilentWorker(runId);
    await reap();
    expect(await run(runId)).toMatchObject({ state: 'failed', endCode: 'attempts_exhausted' });
  });

  it('cancels a run whose cancel was asked for', async () => {
    const { runId } = await client().enqueue(slow, {});
    await claimedBySilentWorker(runId);
    await query('select millrace.cancel_run($1)', [runId]);
    await reap();
    expect(await run(runId)).toMatchObject({ state: 'cancelled', endCode: 'cancelled' });
  });

  it('quarantines a run that costs its third worker', async () => {
    const { runId } = await client().enqueue(slow, {});
    await query('update millrace.runs set max_attempts = 100 where id = $1', [runId]);
    for (let loss = 1; loss <= 3; loss++) {
      await claimedBySilentWorker(runId);
      await reap();
    }
    expect(await run(runId)).toMatchObject({ state: 'failed', endCode: 'poison', losses: 3 });
  });

  it('makes the worker that comes back begin anew', async () => {
    const { runId } = await client().enqueue(slow, {});
    const { worker, calls } = await start({ leaseMs: 1_000 });
    const before = worker.id();
    const call = await until('it runs', () => calls[0]);
    await reap(0);
    await until('it has registered anew', () => worker.id() !== before);
    expect(call.aborted()).toBe('lease-lost');
    const again = await until('it runs again', () => calls[1]);
    again.release();
    await until('it is over', async () => (await run(runId)).finishedAt);
    expect(await run(runId)).toMatchObject({ state: 'succeeded', execution: 2, attempt: 2 });
  });
});

describe('sweep', () => {
  it('gives a new ticket to a waiting run that has lost its own', async () => {
    const { runId } = await client().enqueue(ok, { note: 'x' });
    await query('delete from gw_default._private_jobs');
    expect(await sweep()).toMatchObject([{ repaired: 1 }]);
    await start();
    await until('it is over', async () => (await run(runId)).finishedAt);
  });

  it('gives a new ticket to a run whose own is held without being worked on', async () => {
    const { runId } = await client().enqueue(ok, { note: 'x' });
    await query(
      `update gw_default._private_jobs set locked_by = 'nobody', locked_at = now() - interval '1 minute'`,
    );
    await query(
      `insert into millrace.workers (id, host, pid, version, queues, definitions, pools)
       values (gen_random_uuid(), 'here', 1, 'test', '{}', '{}', '{nobody}')`,
    );
    expect(await sweep()).toMatchObject([{ repaired: 1 }]);
    await start();
    await until('it is over', async () => (await run(runId)).finishedAt);
  });

  it('takes runs from a worker that is not there', async () => {
    const { runId } = await client().enqueue(ok, { note: 'x' });
    const worker = await claimedBySilentWorker(runId);
    await query('delete from millrace.workers where id = $1', [worker]);
    expect(await sweep()).toMatchObject([{ repaired: 1 }]);
    expect(await run(runId)).toMatchObject({ state: 'retrying', losses: 1 });
    await query('select millrace.cancel_run($1)', [runId]);
  });

  it('finds nothing to repair in a healthy system', async () => {
    await client().enqueue(ok, { note: 'x' }, { delayMs: 60_000 });
    await client().enqueue(ok, { note: 'x' });
    expect(await sweep()).toMatchObject([{ came_to: null, repaired: 0 }]);
  });
});
