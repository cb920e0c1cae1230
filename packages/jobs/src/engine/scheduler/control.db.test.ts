import { useDatabase } from '@millrace/db/testing';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import type { InlineHandler } from '../../authoring/handler.ts';
import { cancelRun } from '../../manager/runs/cancel-run.ts';
import { resetDefinition } from '../../manager/definitions/reset-definition.ts';
import { updateDefinition } from '../../manager/definitions/update-definition.ts';
import { managerContext, sweep } from '../../testing/manager-context.ts';
import { triggered } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { createRunInline } from './run-inline.ts';
import { createTriggerJob, type SchedulerTrigger } from './trigger-job.ts';

const database = useDatabase();
const operator = () => managerContext(database, 'operator');
const by = (idempotencyKey: string | null): SchedulerTrigger => ({
  idempotencyKey,
  slot: null,
  context: {},
});
const disable = (name: string) =>
  updateDefinition(operator(), { name, version: 0, reason: 'x', patch: { enabled: false } });

function inline(handler: InlineHandler) {
  return createRunInline({
    pool: database.pool,
    db: database.db,
    log: pino({ level: 'silent' }),
    loadHandler: () => Promise.resolve(handler),
  });
}

describe('a disabled definition', () => {
  it('is not triggered, answers the keys it knows, and is triggered once it is enabled', async () => {
    const { coalesce } = triggered;
    const trigger = createTriggerJob(database.pool);
    const known = await trigger(coalesce, by('key-0001'));
    await database.pool.query('select millrace.cancel_run($1)', [known.job.jobId]);
    await disable(coalesce.name);

    for (const key of ['key-0002', null]) {
      await expect(trigger(coalesce, by(key))).rejects.toMatchObject({
        code: 'job_definition_disabled',
        status: 409,
      });
    }
    const again = await trigger(coalesce, by('key-0001'));
    expect(again).toMatchObject({ replayed: true, job: { jobId: known.job.jobId, done: true } });

    await resetDefinition(operator(), { name: coalesce.name, version: 1 });
    expect((await trigger(coalesce, by('key-0002'))).replayed).toBe(false);
    expect(await database.db.run.count()).toBe(2);
  });

  it('does not keep others of the same statement from being triggered', async () => {
    const { coalesce, skip } = triggered;
    await disable(skip.name);
    const trigger = createTriggerJob(database.pool);
    const answers = await Promise.allSettled([
      trigger(skip, by('key-0001')),
      trigger(coalesce, by('key-0001')),
      trigger(skip, by('key-0002')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
  });

  it('that is inline is not executed, and answers a key that succeeded', async () => {
    const run = inline(() => Promise.resolve({ count: 4, more: false }));
    await run(sweep, by('key-0001'));
    await disable(sweep.name);
    await expect(run(sweep, by('key-0002'))).rejects.toMatchObject({
      code: 'job_definition_disabled',
    });
    expect(await run(sweep, by('key-0001'))).toEqual({ answer: { count: 4 }, replayed: true });
    expect(await database.db.run.count()).toBe(1);
  });
});

describe('an inline job', () => {
  const untilAborted: InlineHandler = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });

  it('has the timeout that operators set', async () => {
    await updateDefinition(operator(), {
      name: sweep.name,
      version: 0,
      patch: { timeoutMs: 1_000 },
    });
    const startedAt = Date.now();
    await expect(inline(untilAborted)(sweep, by(null))).rejects.toMatchObject({
      code: 'job_failed',
    });
    expect(Date.now() - startedAt).toBeLessThan(3_000);
    expect(await database.db.run.findFirst()).toMatchObject({ endCode: 'timed_out' });
  });

  it('is cancelled within 2 s while it runs', async () => {
    const answer = inline(untilAborted)(sweep, by('key-0001')).catch((error: unknown) => error);
    const { id } = await until('it runs', () => database.db.run.findFirst());
    const askedAt = Date.now();
    expect((await cancelRun(operator(), { id })).outcome).toBe('requested');
    expect(await answer).toMatchObject({ code: 'job_failed' });
    expect(Date.now() - askedAt).toBeLessThan(2_000);
    expect(await database.db.run.findFirst()).toMatchObject({
      state: 'cancelled',
      endCode: 'cancelled',
    });
    expect(await database.db.schedulerJob.findFirst()).toMatchObject({
      outcome: 'cancelled',
      idempotencyKey: null,
    });
  });
});
