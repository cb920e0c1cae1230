import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { fatal } from '../../authoring/outcome.ts';
import type { HandlerResult } from '../../authoring/handler.ts';
import { createTestRegistry } from '../../testing/test-handlers.ts';
import { ok, triggered } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createJobClient } from '../enqueue-run.ts';
import { getSchedulerJob } from './get-scheduler-job.ts';
import { createTriggerJob } from './trigger-job.ts';

const database = useDatabase();
const start = useWorkers(database);
const definition = triggered.coalesce;

const get = (jobId: string) => getSchedulerJob(database.pool, jobId);
async function post(slot: Date | null = null): Promise<string> {
  const trigger = createTriggerJob(database.pool);
  const { job } = await trigger(definition, { idempotencyKey: null, slot, context: {} });
  return job.jobId;
}
const done = (jobId: string) =>
  until(`job ${jobId} is done`, async () => {
    const job = await get(jobId);
    return job.done && job;
  });
/** A worker whose handler does what the test says. */
const startWith = (handler: () => Promise<HandlerResult | Error | void>) => {
  const jobs = createTestRegistry();
  return start({
    jobs: {
      ...jobs,
      registry: { ...jobs.registry, loadHandler: () => Promise.resolve(handler as never) },
    },
  });
};
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('getSchedulerJob', () => {
  it('tells of a run that waits', async () => {
    const jobId = await post();
    expect(await get(jobId)).toEqual({
      jobId,
      type: definition.name,
      status: 'queued',
      done: false,
      attempt: 0,
      maxAttempts: 3,
      enqueuedAt: instant,
      startedAt: null,
      finishedAt: null,
    });
  });

  it('tells of a run whose time is still to come', async () => {
    const jobId = await post();
    await database.pool.query(
      `update millrace.runs set run_at = now() + interval '1 hour' where id = $1`,
      [jobId],
    );
    expect(await get(jobId)).toMatchObject({ status: 'scheduled', done: false });
  });

  it('tells of a run that is running', async () => {
    const jobId = await post();
    const { calls } = await start();
    await until('it runs', () => calls.length === 1);
    expect(await get(jobId)).toMatchObject({
      status: 'running',
      done: false,
      attempt: 1,
      startedAt: instant,
      finishedAt: null,
    });
  });

  it('tells of a run that succeeded, of its result the counts only', async () => {
    const jobId = await post();
    await startWith(() =>
      Promise.resolve({
        count: 3,
        ratio: 0.5,
        name: 'Ann',
        ok: true,
        nested: { count: 9 },
        list: [1],
        none: null,
      }),
    );
    expect(await done(jobId)).toEqual({
      jobId,
      type: definition.name,
      status: 'succeeded',
      done: true,
      attempt: 1,
      maxAttempts: 3,
      enqueuedAt: instant,
      startedAt: instant,
      finishedAt: instant,
      result: { count: 3, ratio: 0.5 },
    });
  });

  it.each([
    ['nothing', undefined],
    ['no counts', { name: 'Ann' }],
  ])('leaves the result out when the handler reported %s', async (_what, result) => {
    const jobId = await post();
    await startWith(() => Promise.resolve(result));
    expect(await done(jobId)).not.toHaveProperty('result');
  });

  it('tells of a run that waits for its next attempt, without its error', async () => {
    const jobId = await post();
    const failing = {
      ...definition,
      retry: { ...definition.retry, firstDelayMs: 600_000, maxDelayMs: 600_000 },
    };
    const jobs = createTestRegistry();
    const registry = {
      ...jobs.registry,
      definitions: new Map([[failing.name, failing]]),
      find: () => failing,
      loadHandler: () => Promise.resolve(() => Promise.reject(new Error('secret'))),
    };
    await start({ jobs: { ...jobs, registry } });
    const job = await until('it waits again', async () => {
      const found = await get(jobId);
      return found.status === 'retrying' && found;
    });
    expect(job).toMatchObject({ done: false, attempt: 1, finishedAt: null });
    expect(JSON.stringify(job)).not.toContain('secret');
  });

  it('tells of a run that failed by a code and its fixed text', async () => {
    const jobId = await post();
    await startWith(() => Promise.resolve(fatal('the secret of ann@example.org')));
    const job = await done(jobId);
    expect(job).toMatchObject({
      status: 'failed',
      done: true,
      error: {
        code: 'fatal',
        message: 'The job reported an error that no further attempt can mend.',
      },
    });
    expect(JSON.stringify(job)).not.toContain('secret');
  });

  it('tells of a run that was cancelled', async () => {
    const jobId = await post();
    await database.pool.query('select millrace.cancel_run($1)', [jobId]);
    expect(await get(jobId)).toMatchObject({
      status: 'cancelled',
      done: true,
      attempt: 0,
      startedAt: null,
      finishedAt: instant,
      error: { code: 'cancelled' },
    });
  });

  it('tells of a run that is gone', async () => {
    const jobId = await post();
    await database.pool.query('select millrace.cancel_run($1)', [jobId]);
    await database.db.run.delete({ where: { id: jobId } });
    expect(await get(jobId)).toMatchObject({
      jobId,
      type: definition.name,
      status: 'cancelled',
      done: true,
      maxAttempts: null,
      finishedAt: instant,
    });
  });

  it('tells the same by whichever key the run was joined', async () => {
    const trigger = createTriggerJob(database.pool);
    const by = (idempotencyKey: string) => ({ idempotencyKey, slot: null, context: {} });
    const { job } = await trigger(definition, by('key-00001'));
    await trigger(definition, by('key-00002'));
    expect(await get(job.jobId)).toMatchObject({ jobId: job.jobId, status: 'queued' });
  });

  it('does not tell whether an id that no POST returned exists', async () => {
    const { runId } = await createJobClient({ pool: database.pool }).enqueue(ok, {});
    for (const id of [runId, randomUUID()]) {
      await expect(get(id)).rejects.toMatchObject({
        code: 'job_not_found',
        message: 'No POST to this service has returned this id.',
      });
    }
  });
});
