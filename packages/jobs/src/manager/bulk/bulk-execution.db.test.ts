import { setTimeout as sleep } from 'node:timers/promises';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { fatally, ok, slow } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { retryRun } from '../runs/retry-run.ts';
import { abortBulk } from './abort-bulk.ts';
import { getBulk } from './get-bulk.ts';
import { plantFailedRuns } from './sql/plant-failed-runs.ts';
import { startBulk } from './start-bulk.ts';

const database = useDatabase({ poolSize: 20 });
const start = useWorkers(database);
const operator = () => managerContext(database, 'operator', 'Grace');
const client = () => createJobClient({ pool: database.pool });

/** In a queue that no worker of these tests serves, unless told otherwise: retried runs stay queued. */
async function plant(count: number, queue = 'batch'): Promise<string[]> {
  const values = [count, fatally.name, queue];
  const { rows } = await database.pool.query<{ id: string }>(plantFailedRuns, values);
  return rows.map(({ id }) => id);
}

const startRetry = (rate: number) =>
  startBulk(operator(), { action: 'retry', filter: { state: ['failed'] }, reason: 'x', rate });
const progress = (id: string) => getBulk(operator(), { id });
const isDone = (id: string) =>
  until('it is done', async () => (await progress(id)).state === 'done', 40_000);

/** Runs batches until it is over, as a worker does. */
async function finish(id: string) {
  for (;;) {
    const { rows } = await database.pool.query<{ ms: number }>(
      'select wait_ms as ms from millrace.run_bulk_batch($1)',
      [id],
    );
    const bulk = await progress(id);
    if (bulk.state !== 'running') return bulk;
    await sleep(rows[0]?.ms ?? 10);
  }
}

/** Asserts that the counters are what the runs, the items and the audit say. */
async function expectExact(id: string): Promise<void> {
  const bulk = await progress(id);
  expect(bulk.done + bulk.skipped + bulk.remaining).toBe(bulk.total);
  expect(Object.values(bulk.skips).reduce((sum, n) => sum + n, 0)).toBe(bulk.skipped);
  const { rows } = await database.pool.query<{ audited: number; runs: number; skipped: number }>(
    `select (select count(*) from millrace.audit_events a
              where a.subject_kind = 'run' and a.detail ->> 'bulk' = $1::text)::integer as audited,
            (select count(distinct a.subject) from millrace.audit_events a
              where a.subject_kind = 'run' and a.detail ->> 'bulk' = $1::text)::integer as runs,
            (select count(*) from millrace.bulk_items i
              where i.bulk_id = $1::uuid and i.skipped is not null)::integer as skipped`,
    [id],
  );
  expect(rows[0]).toEqual({ audited: bulk.done, runs: bulk.done, skipped: bulk.skipped });
}

describe('a bulk retry', () => {
  // The larger form is for measurements: it takes half a minute.
  const [COUNT, RATE] =
    process.env['MILLRACE_LARGE_TESTS'] === 'true' ? [10_000, 500] : [2_000, 1_000];

  // Tried again: a machine that stands still for a while is no fault of the rate.
  it(
    `retries ${COUNT} runs at ${RATE}/s with two workers`,
    { timeout: 60_000, retry: 2 },
    async () => {
      await plant(COUNT);
      await start();
      await start();
      const { id } = await startRetry(RATE);
      await isDone(id);
      expect(await progress(id)).toMatchObject({ total: COUNT, done: COUNT, skipped: 0 });
      const { rows } = await database.pool.query<{ seconds: number; most: number }>(
        `select extract(epoch from max(at) - min(at))::float8 as seconds, max(within)::integer as most
         from (select at, count(*) over (order by at range between interval '1 s' preceding and current row)
                      as within
                 from millrace.audit_events where action = 'jobs.run.retried') a`,
      );
      const { seconds = 0, most = 0 } = rows[0] ?? {};
      // The first batch, of a tenth of a second's worth, takes no time.
      const measured = (COUNT - RATE / 10) / seconds;
      expect(measured).toBeGreaterThan(RATE * 0.9);
      expect(measured).toBeLessThan(RATE * 1.1);
      // And the batches that are made up for, of 200 ms.
      expect(most).toBeLessThanOrEqual(RATE * 1.3);
      expect(await database.db.run.count({ where: { state: 'queued' } })).toBe(COUNT);
      await expectExact(id);
    },
  );

  it('is exact when it is aborted half-way', { timeout: 60_000 }, async () => {
    await plant(COUNT);
    await start();
    await start();
    const { id } = await startRetry(RATE);
    await until('half of it is done', async () => (await progress(id)).done >= COUNT / 2, 30_000);
    const aborted = await abortBulk(operator(), { id });
    await sleep(1_000);
    const after = await progress(id);
    expect(after).toMatchObject({ done: aborted.done, remaining: aborted.remaining });
    expect(await database.db.run.count({ where: { state: 'queued' } })).toBe(after.done);
    expect(await database.db.run.count({ where: { state: 'failed' } })).toBe(after.remaining);
    await expectExact(id);
  });

  it('goes on where a worker was stopped, and makes up for no time without one', async () => {
    await plant(400);
    const first = await start();
    const { id } = await startRetry(200);
    await until('some are done', async () => (await progress(id)).done >= 100);
    await first.worker.stop({ timeoutMs: 1_000 });
    const { done } = await progress(id);
    await sleep(1_000);
    expect((await progress(id)).done).toBe(done);
    await start();
    const resumedAt = Date.now();
    await isDone(id);
    // All but what is made up for and the first batch takes its time.
    expect(Date.now() - resumedAt).toBeGreaterThan(((400 - done) / 200 - 0.35) * 1_000);
    await expectExact(id);
  });

  it('loses nothing and repeats nothing when a batch breaks off', async () => {
    await plant(50);
    const { id } = await startRetry(1_000);
    const tx = await database.pool.connect();
    await tx.query('begin');
    await tx.query('select from millrace.run_bulk_batch($1)', [id]);
    // Meanwhile nobody else is at it.
    const { rowCount } = await database.pool.query('select from millrace.run_bulk_batch($1)', [id]);
    expect(rowCount).toBe(0);
    await tx.query('rollback');
    tx.release();
    expect(await progress(id)).toMatchObject({ done: 0, remaining: 50 });
    expect(await finish(id)).toMatchObject({ state: 'done', done: 50 });
    await expectExact(id);
  });

  it('loses nothing and repeats nothing when connections break all the time', async () => {
    await plant(1_000);
    await start();
    const { id } = await startRetry(1_000);
    for (let n = 0; n < 8; n++) {
      await sleep(90 + n);
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'millrace worker writers'`,
      );
    }
    await isDone(id);
    expect(await progress(id)).toMatchObject({ done: 1_000, skipped: 0 });
    await expectExact(id);
  });

  it('retries a run once, also when it fails again meanwhile', async () => {
    await plant(100, 'default');
    await start();
    const { id } = await startRetry(100);
    await isDone(id);
    await until(
      'every run has failed again',
      async () => (await database.db.run.count({ where: { state: 'failed' } })) === 100,
    );
    expect(await database.db.execution.groupBy({ by: ['runId'], _count: true })).toHaveLength(100);
    expect(await database.db.execution.count()).toBe(100);
    await expectExact(id);
  });

  it('skips what has changed, and says why', async () => {
    const [wrong, erased, inline, gone, keyed, twin, again, ...others] = await plant(10);
    const set = (id: string | undefined, assignments: string) =>
      database.pool.query(`update millrace.runs set ${assignments} where id = $1`, [id]);
    await set(inline, 'queue = null');
    await set(keyed, "dedupe_key = 'k'");
    await set(twin, "dedupe_key = 'k'");
    const { id } = await startRetry(1_000);
    await retryRun(operator(), { id: wrong as string });
    await set(erased, 'args = null');
    await set(again, "finished_at = finished_at + interval '1 microsecond'");
    await database.pool.query('delete from millrace.runs where id = $1', [gone]);
    expect(await finish(id)).toMatchObject({
      done: others.length + 1,
      skips: { wrong_state: 1, erased: 1, inline: 1, unknown: 1, changed: 1, duplicate: 1 },
    });
    const codes = (await progress(id)).skippedRuns.map((run) => `${run.id} ${run.code}`);
    expect(codes).toEqual(
      [
        `${wrong} wrong_state`,
        `${erased} erased`,
        `${inline} inline`,
        `${gone} unknown`,
        `${codes.find((code) => code.endsWith('duplicate'))?.slice(0, 36)} duplicate`,
        `${again} changed`,
      ].sort(),
    );
    await expectExact(id);
  });

  it('passes over locked runs and comes back to them', async () => {
    const [locked] = await plant(5);
    const { id } = await startRetry(1_000);
    const tx = await database.pool.connect();
    await tx.query('begin');
    await tx.query('select from millrace.runs where id = $1 for update', [locked]);
    await database.pool.query('select from millrace.run_bulk_batch($1)', [id]);
    expect(await progress(id)).toMatchObject({ done: 4, remaining: 1 });
    await tx.query('rollback');
    tx.release();
    expect(await finish(id)).toMatchObject({ done: 5 });
    await expectExact(id);
  });

  it('does not wait for an enqueue of the same dedupe key that stays open', async () => {
    const [keyed] = await plant(3);
    await database.pool.query(`update millrace.runs set dedupe_key = 'k' where id = $1`, [keyed]);
    const tx = await database.pool.connect();
    await tx.query('begin');
    await tx.query(
      `select from millrace.enqueue_runs(jsonb_build_array(jsonb_build_object(
         'definition', $1::text, 'queue', 'batch', 'maxAttempts', 1, 'dedupeKey', 'k')))`,
      [fatally.name],
    );
    const { id } = await startRetry(1_000);
    expect(await finish(id)).toMatchObject({ done: 2, skips: { duplicate: 1 } });
    await tx.query('commit');
    tx.release();
    await expectExact(id);
  });

  it('does to a run what a single retry does', async () => {
    const [one, other] = await plant(2);
    await retryRun(operator(), { id: one as string });
    const { id } = await startRetry(100);
    await finish(id);
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select r.id, to_jsonb(r) - '{id,ticket,run_at,enqueued_at}'::text[] as run,
              to_jsonb(j) - '{id,payload,run_at,created_at,updated_at}'::text[] as ticket
         from millrace.runs r join gw_batch._private_jobs j on j.id = r.ticket order by r.id = $1`,
      [other],
    );
    expect(rows.map((row) => row['id'])).toEqual([one, other]);
    expect({ ...rows[0], id: '' }).toEqual({ ...rows[1], id: '' });
  });
});

describe('a bulk cancel', () => {
  it('ends what waits, signals what runs and leaves what is in another state', async () => {
    await start();
    const { runId: running } = await client().enqueue(slow, {});
    await until(
      'it runs',
      async () => (await database.db.run.count({ where: { state: 'running' } })) === 1,
    );
    const { runId: waiting } = await client().enqueue(ok, {}, { delayMs: 3_600_000 });
    const { runId: early } = await client().enqueue(ok, {}, { delayMs: 3_600_000 });
    await database.pool.query(
      `insert into millrace.scheduler_jobs (run_id, definition) values ($1, $2)`,
      [waiting, ok.name],
    );
    await database.pool.query(`update millrace.runs set trigger = 'scheduler' where id = $1`, [
      waiting,
    ]);
    const { id } = await startBulk(operator(), {
      action: 'cancel',
      filter: { ids: [running, waiting, early], state: ['scheduled', 'running'] },
      reason: 'wrong',
      rate: 1,
    });
    await database.pool.query('select millrace.cancel_run($1)', [early]);
    await isDone(id);
    await until(
      'none is live',
      async () => (await database.db.run.count({ where: { finishedAt: null } })) === 0,
    );
    expect(await progress(id)).toMatchObject({ done: 2, skips: { wrong_state: 1 } });
    const audited = await database.db.auditEvent.findMany({ where: { subjectKind: 'run' } });
    // Rows of one statement have no order.
    expect(new Map(audited.map(({ subject, detail }) => [subject, detail]))).toEqual(
      new Map([
        [running, { bulk: id, outcome: 'requested' }],
        [waiting, { bulk: id, outcome: 'cancelled' }],
      ]),
    );
    const [first] = audited;
    const started = await database.db.auditEvent.findFirst({ where: { subject: id } });
    expect(first).toMatchObject({
      action: 'jobs.run.cancelled',
      actorLabel: 'Grace',
      reason: 'wrong',
      requestId: started?.requestId,
    });
    const { rows } = await database.pool.query('select outcome from millrace.scheduler_jobs');
    expect(rows).toEqual([{ outcome: 'cancelled' }]);
    await expectExact(id);
  });
});
