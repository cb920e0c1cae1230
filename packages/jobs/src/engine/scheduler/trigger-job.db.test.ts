import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { createTestRegistry } from '../../testing/test-handlers.ts';
import { ok, triggered } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createTriggerJob, schedulerDefinition, type SchedulerTrigger } from './trigger-job.ts';

const { coalesce, skip, allow } = triggered;
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const database = useDatabase();
const start = useWorkers(database);
let trigger: ReturnType<typeof createTriggerJob>;
beforeAll(() => {
  trigger = createTriggerJob(database.pool);
});

const by = (
  idempotencyKey: string | null,
  more: Partial<SchedulerTrigger> = {},
): SchedulerTrigger => ({
  idempotencyKey,
  slot: null,
  context: {},
  ...more,
});
const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const runs = () => database.db.run.findMany({ orderBy: { id: 'asc' } });
const finished = (id: string) =>
  until(`run ${id} is over`, async () => {
    const found = await run(id);
    return found.finishedAt && found;
  });
async function tickets(): Promise<number> {
  const { rows } = await database.pool.query('select from gw_default.jobs');
  return rows.length;
}
const cancelRun = (id: string) => database.pool.query('select millrace.cancel_run($1)', [id]);

describe('schedulerDefinition', () => {
  const { registry } = createTestRegistry();

  it('finds what a scheduler may trigger', () => {
    expect(schedulerDefinition(registry, coalesce.name)).toBe(coalesce);
  });

  it.each([
    ['does not exist', 'test.nothing'],
    ['is not the scheduler’s to trigger', ok.name],
    ['is a name of every object', 'constructor'],
  ])('does not tell about one that %s', (_what, name) => {
    expect(() => schedulerDefinition(registry, name)).toThrow(
      expect.objectContaining({ code: 'job_definition_not_found' }),
    );
  });
});

describe('trigger', () => {
  it('adds a run with what the definition and the request say', async () => {
    const slot = new Date('2030-01-01T00:00:00Z');
    const { job, replayed } = await trigger(
      coalesce,
      by('key-00001', { slot, context: { requestId: 'r', traceparent: TRACEPARENT } }),
    );
    expect(replayed).toBe(false);
    expect(job).toEqual({
      jobId: expect.any(String),
      type: coalesce.name,
      status: 'queued',
      done: false,
    });
    expect(await run(job.jobId)).toMatchObject({
      definition: coalesce.name,
      trigger: 'scheduler',
      state: 'queued',
      args: { slot: slot.toISOString() },
      slot,
      context: { requestId: 'r', traceparent: TRACEPARENT },
      exclusive: true,
    });
    expect(await database.db.schedulerJob.findMany()).toMatchObject([
      { runId: job.jobId, definition: coalesce.name, idempotencyKey: 'key-00001', outcome: null },
    ]);
    expect(await tickets()).toBe(1);
  });

  it('refuses new arguments that the schema does not accept', async () => {
    const wrong = { ...coalesce, newArgs: () => ({ slot: 7 }) } as unknown as typeof coalesce;
    await expect(trigger(wrong, by(null))).rejects.toMatchObject({ code: 'invalid_job_args' });
    expect(await runs()).toEqual([]);
  });

  it('hands the slot to the handler', async () => {
    const slot = new Date('2030-01-01T00:00:00Z');
    const { job } = await trigger(coalesce, by('key-00001', { slot }));
    const { calls, releaseAll } = await start();
    releaseAll();
    await finished(job.jobId);
    expect(calls).toMatchObject([{ slot, args: { slot: slot.toISOString() } }]);
  });
});

describe('trigger with a known key', () => {
  it('answers with the live run, whatever it is doing', async () => {
    const first = await trigger(coalesce, by('key-00001'));
    const waiting = await trigger(coalesce, by('key-00001'));
    expect(waiting).toEqual({ job: first.job, replayed: true });

    const { calls } = await start();
    const call = await until('it runs', () => calls[0]);
    const running = await trigger(coalesce, by('key-00001'));
    expect(running).toEqual({ job: { ...first.job, status: 'running' }, replayed: true });
    call.release();
    await finished(first.job.jobId);
    expect(await runs()).toHaveLength(1);
  });

  it('answers with the finished run and does not run again', async () => {
    const first = await trigger(coalesce, by('key-00001'));
    await cancelRun(first.job.jobId);
    for (let again = 0; again < 2; again++) {
      expect(await trigger(coalesce, by('key-00001'))).toEqual({
        job: { ...first.job, status: 'cancelled', done: true },
        replayed: true,
      });
    }
    expect(await runs()).toHaveLength(1);
    expect(await tickets()).toBe(0);
  });

  it('answers from the permanent record once the run is gone', async () => {
    const first = await trigger(coalesce, by('key-00001'));
    await cancelRun(first.job.jobId);
    await database.db.run.delete({ where: { id: first.job.jobId } });
    expect(await trigger(coalesce, by('key-00001'))).toEqual({
      job: { ...first.job, status: 'cancelled', done: true },
      replayed: true,
    });
    expect(await runs()).toEqual([]);
  });

  it('is another job for another definition', async () => {
    const one = await trigger(coalesce, by('key-00001'));
    const other = await trigger(skip, by('key-00001'));
    expect(other.replayed).toBe(false);
    expect(other.job.jobId).not.toBe(one.job.jobId);
  });

  it('adds one run for 100 concurrent calls', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => trigger(coalesce, by('key-00001'))),
    );
    expect(new Set(answers.map(({ job }) => job.jobId)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await runs()).toHaveLength(1);
    expect(await tickets()).toBe(1);
  });

  it('adds one run for 100 concurrent calls of 10 processes', async () => {
    const processes = Array.from({ length: 10 }, () => createTriggerJob(database.pool));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => processes[n % 10]!(allow, by('key-00001'))),
    );
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await runs()).toHaveLength(1);
    expect(await tickets()).toBe(1);
  });
});

describe('trigger without a key', () => {
  it.each([['coalesce'], ['skip'], ['allow']] as const)(
    'answers with the live run that a trigger created, and adds a new one after it: %s',
    async (overlap) => {
      const definition = triggered[overlap];
      const first = await trigger(definition, by(null));
      expect(await trigger(definition, by(null))).toEqual({ job: first.job, replayed: true });
      await cancelRun(first.job.jobId);
      const second = await trigger(definition, by(null));
      expect(second.replayed).toBe(false);
      expect(second.job.jobId).not.toBe(first.job.jobId);
      expect(await runs()).toHaveLength(2);
    },
  );

  it('answers with the run that is running', async () => {
    const first = await trigger(coalesce, by(null));
    const { calls } = await start();
    await until('it runs', () => calls.length === 1);
    expect(await trigger(coalesce, by(null))).toEqual({
      job: { ...first.job, status: 'running' },
      replayed: true,
    });
  });

  it('adds one run for 100 concurrent calls', async () => {
    const processes = Array.from({ length: 10 }, () => createTriggerJob(database.pool));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => processes[n % 10]!(coalesce, by(null))),
    );
    expect(new Set(answers.map(({ job }) => job.jobId)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await runs()).toHaveLength(1);
    expect(await tickets()).toBe(1);
  });
});

describe('trigger with a new key while a run is live', () => {
  it('joins the one that waits, which answers to both keys: coalesce', async () => {
    const first = await trigger(coalesce, by('key-00001'));
    const second = await trigger(coalesce, by('key-00002'));
    expect(second).toEqual({ job: first.job, replayed: true });
    await cancelRun(first.job.jobId);
    expect(await trigger(coalesce, by('key-00002'))).toMatchObject({
      job: { jobId: first.job.jobId, status: 'cancelled' },
      replayed: true,
    });
    expect(await database.db.schedulerJob.findMany({ orderBy: { id: 'asc' } })).toMatchObject([
      { idempotencyKey: 'key-00001', outcome: 'cancelled' },
      { idempotencyKey: 'key-00002', outcome: 'cancelled' },
    ]);
  });

  it('lets one wait while one runs, and runs them one after the other: coalesce', async () => {
    const { calls } = await start();
    const first = await trigger(coalesce, by('key-00001'));
    const running = await until('it runs', () => calls[0]);
    const second = await trigger(coalesce, by('key-00002'));
    const third = await trigger(coalesce, by('key-00003'));
    expect([second.replayed, third.replayed]).toEqual([false, true]);
    expect(second.job.jobId).not.toBe(first.job.jobId);
    expect(third.job.jobId).toBe(second.job.jobId);
    await until(
      'the second was refused once',
      async () => (await run(second.job.jobId)).ticket !== 2n,
    );
    expect(calls).toHaveLength(1);

    running.release();
    (await until('the second runs', () => calls[1])).release();
    const ended = [await finished(first.job.jobId), await finished(second.job.jobId)];
    expect(ended[1]!.startedAt!.getTime()).toBeGreaterThanOrEqual(ended[0]!.finishedAt!.getTime());
    expect(ended).toMatchObject(Array(2).fill({ state: 'succeeded', execution: 1 }));
  });

  it('joins the one that runs: skip', async () => {
    const { calls } = await start();
    const first = await trigger(skip, by('key-00001'));
    await until('it runs', () => calls.length === 1);
    const second = await trigger(skip, by('key-00002'));
    expect(second).toMatchObject({
      job: { jobId: first.job.jobId, status: 'running' },
      replayed: true,
    });
    expect(await runs()).toHaveLength(1);
  });

  it('adds another that runs beside it: allow', async () => {
    const { calls } = await start();
    const jobs = await Promise.all(
      ['key-00001', 'key-00002', 'key-00003'].map((key) => trigger(allow, by(key))),
    );
    expect(jobs.map(({ replayed }) => replayed)).toEqual([false, false, false]);
    await until('all run', () => calls.length === 3);
  });

  it('adds one run per key that waits for no other: 100 concurrent keys, allow', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => trigger(allow, by(`key-${n + 10_000}`))),
    );
    expect(new Set(answers.map(({ job }) => job.jobId)).size).toBe(100);
    expect(await tickets()).toBe(100);
    expect(await database.db.schedulerJob.count()).toBe(100);
  });

  it('leaves runs of the application alone', async () => {
    await database.pool.query(`select millrace.enqueue($1, '{}')`, [coalesce.name]);
    expect((await trigger(coalesce, by('key-00001'))).replayed).toBe(false);
    expect((await trigger(skip, by(null))).replayed).toBe(false);
  });

  it('joins a run that an operator began, and knows its end', async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `select millrace.enqueue($1, '{}', 'default', 3, '{"trigger": "manual", "exclusive": true}') as id`,
      [coalesce.name],
    );
    const joined = await trigger(coalesce, by('key-00001'));
    expect(joined).toMatchObject({ job: { jobId: rows[0]!.id }, replayed: true });
    await cancelRun(joined.job.jobId);
    expect(await database.db.schedulerJob.findMany()).toMatchObject([
      { runId: joined.job.jobId, idempotencyKey: 'key-00001', outcome: 'cancelled' },
    ]);
  });

  it('rejects only the caller whose definition is at fault', async () => {
    const nowhere = { ...allow, name: 'test.nowhere', queue: 'nowhere' } as unknown as typeof allow;
    const results = await Promise.allSettled([
      trigger(allow, by('key-00001')),
      trigger(nowhere, by('key-00001')),
      trigger(skip, by('key-00001')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await runs()).toHaveLength(2);
  });
});
