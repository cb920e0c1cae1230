import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { fatally, ok, slow, throwing } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { cancelRun } from './cancel-run.ts';
import { retryRun } from './retry-run.ts';

const database = useDatabase({ poolSize: 20 });
const start = useWorkers(database);
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');
const client = () => createJobClient({ pool: database.pool });

const stateOf = async (id: string) =>
  (await database.db.run.findUniqueOrThrow({ where: { id } })).state;
const isIn = (id: string, state: string) =>
  until(`the run is ${state}`, async () => (await stateOf(id)) === state);

async function actions(): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    `select concat_ws(' ', action, outcome, actor_label, subject, reason) as text
       from millrace.audit_events order by id`,
  );
  return rows.map(({ text }) => text);
}

async function failedRun(): Promise<string> {
  const { runId } = await client().enqueue(throwing, { what: 'error' });
  await isIn(runId, 'failed');
  return runId;
}

describe('retryRun', () => {
  it('opens the same run again with one more attempt', async () => {
    await start();
    const id = await failedRun();
    expect(await retryRun(operator(), { id, reason: 'mended' })).toEqual({ id, status: 'queued' });
    await until('it has failed again', async () => {
      const run = await database.db.run.findUniqueOrThrow({ where: { id } });
      return run.state === 'failed' && run.attempt === 2 && run.maxAttempts === 2;
    });
    expect(await database.db.execution.count({ where: { runId: id } })).toBe(2);
    expect(await actions()).toEqual([`jobs.run.retried done Grace ${id} mended`]);
  });

  it('tells a scheduler that the job is not done any more', async () => {
    await start();
    const id = await failedRun();
    await database.pool.query(
      `insert into millrace.scheduler_jobs (run_id, definition, outcome, finished_at)
       values ($1, $2, 'failed', now())`,
      [id, throwing.name],
    );
    await database.pool.query(`update millrace.runs set trigger = 'scheduler' where id = $1`, [id]);
    await database.pool.query(
      `update millrace.queues set paused_at = now(), pause_reason = 'x', paused_by = 'x'`,
    );
    await retryRun(operator(), { id });
    const { rows } = await database.pool.query('select outcome from millrace.scheduler_jobs');
    expect(rows).toEqual([{ outcome: null }]);
  });

  it('opens a cancelled run, which keeps the attempts that it has to spare', async () => {
    const { runId: id } = await client().enqueue(ok, {}, { delayMs: 3_600_000 });
    await cancelRun(operator(), { id });
    await retryRun(operator(), { id });
    const run = await database.db.run.findUniqueOrThrow({ where: { id } });
    expect([run.state, run.attempt, run.maxAttempts, run.endCode]).toEqual(['queued', 0, 3, null]);
  });

  it('refuses what cannot be retried, and says why', async () => {
    await start();
    const { runId: live } = await client().enqueue(slow, {});
    const { runId: done } = await client().enqueue(ok, {});
    await isIn(done, 'succeeded');
    await isIn(live, 'running');
    const failed = await failedRun();
    await database.pool.query('update millrace.runs set args = null where id = $1', [failed]);
    const codeOf = (id: string) =>
      retryRun(operator(), { id }).catch(
        ({ code, details }: { code: string; details: object }) => ({
          code,
          ...details,
        }),
      );
    expect(await codeOf(live)).toEqual({ code: 'invalid_job_state', state: 'running' });
    expect(await codeOf(done)).toEqual({ code: 'invalid_job_state', state: 'succeeded' });
    expect(await codeOf(failed)).toEqual({ code: 'arguments_erased' });
    expect(await codeOf(randomUUID())).toEqual({ code: 'job_not_found' });
    expect(await codeOf('1')).toEqual({ code: 'invalid_request' });
    expect(await actions()).toEqual([]);
  });

  it('refuses a run whose dedupe key another one has by now', async () => {
    const dedupe = { key: 'one at a time' };
    const later = { delayMs: 3_600_000, dedupe };
    const { runId: first } = await client().enqueue(ok, {}, later);
    await cancelRun(operator(), { id: first });
    await client().enqueue(ok, {}, later);
    await expect(retryRun(operator(), { id: first })).rejects.toMatchObject({
      code: 'invalid_job_state',
      details: { state: 'duplicate' },
    });
    expect(await stateOf(first)).toBe('cancelled');
  });

  it('is denied to a viewer', async () => {
    await start();
    const id = await failedRun();
    await expect(retryRun(viewer(), { id })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await stateOf(id)).toBe('failed');
    expect(await actions()).toEqual([`runs.retry denied Vera ${id}`]);
  });
});

describe('cancelRun', () => {
  it('ends a waiting run at once and a running one within 2 s', async () => {
    await start();
    const { runId: waiting } = await client().enqueue(ok, {}, { delayMs: 3_600_000 });
    const { runId: running } = await client().enqueue(slow, {});
    await isIn(running, 'running');
    expect((await cancelRun(operator(), { id: waiting })).outcome).toBe('cancelled');
    const askedAt = Date.now();
    expect((await cancelRun(operator(), { id: running, reason: 'wrong' })).outcome).toBe(
      'requested',
    );
    await isIn(running, 'cancelled');
    expect(Date.now() - askedAt).toBeLessThan(2_000);
    expect(await actions()).toEqual([
      `jobs.run.cancelled done Grace ${waiting}`,
      `jobs.run.cancelled done Grace ${running} wrong`,
    ]);
  });

  it('refuses a run that is over or not there, and is denied to a viewer', async () => {
    await start();
    const id = await failedRun();
    await expect(cancelRun(operator(), { id })).rejects.toMatchObject({
      code: 'invalid_job_state',
    });
    await expect(cancelRun(operator(), { id: randomUUID() })).rejects.toMatchObject({
      code: 'job_not_found',
    });
    await expect(cancelRun(viewer(), { id })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await actions()).toEqual([`runs.cancel denied Vera ${id}`]);
  });
});

describe('retries and cancels raced against the end of the run', () => {
  const RACES = 1_000;

  it(`never lead to two outcomes, ${RACES} times`, { timeout: 90_000 }, async () => {
    await start();
    await start();
    const runs = await client().enqueueMany(
      Array.from({ length: RACES }, (_, n) => ({
        definition: n % 2 ? ok : fatally,
        args: {},
      })),
    );
    /** What verbs said they did, per run: as many retries as times that it was over. */
    const done = new Map(runs.map(({ runId }) => [runId, { cancelled: 0, retried: 0 }]));
    const attempt = async (id: string): Promise<void> => {
      const said = done.get(id);
      if (!said) return;
      await Promise.all([
        cancelRun(operator(), { id }).then(
          ({ outcome }) => (said.cancelled += outcome === 'cancelled' ? 1 : 0),
          () => undefined,
        ),
        retryRun(operator(), { id }).then(
          () => said.retried++,
          () => undefined,
        ),
      ]);
    };
    for (let round = 0; round < 3; round++) {
      for (let from = 0; from < RACES; from += 20) {
        await Promise.all(runs.slice(from, from + 20).map(({ runId }) => attempt(runId)));
      }
    }
    await until(
      'every run is over',
      async () => (await database.db.run.count({ where: { finishedAt: null } })) === 0,
      60_000,
    );

    // Every ending is an ended execution that left it over, or a cancel while it waited; every retry
    // opens exactly one of them again, and one remains.
    const { rows } = await database.pool.query<{ id: string; endings: number }>(
      `select r.id, count(e.*) filter (where e.outcome in ('succeeded', 'failed', 'cancelled'))::integer as endings
         from millrace.runs r left join millrace.executions e on e.run_id = r.id group by r.id`,
    );
    const odd = rows.filter(({ id, endings }) => {
      const said = done.get(id);
      return !said || endings + said.cancelled - said.retried !== 1;
    });
    expect(odd).toEqual([]);
    const audited = await database.db.auditEvent.groupBy({ by: ['action'], _count: true });
    const retries = [...done.values()].reduce((sum, { retried }) => sum + retried, 0);
    expect(audited.find(({ action }) => action === 'jobs.run.retried')?._count ?? 0).toBe(retries);
    expect(retries).toBeGreaterThan(0);
  });
});
