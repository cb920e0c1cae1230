import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { ok, slow } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { drainWorker } from '../workers/drain-worker.ts';
import { listWorkers } from '../workers/list-workers.ts';
import { getQueue, listQueues } from './list-queues.ts';
import { pauseQueue } from './pause-queue.ts';
import { resumeQueue } from './resume-queue.ts';

const database = useDatabase();
const start = useWorkers(database);
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');

const pause = (until?: Date) =>
  pauseQueue(operator(), { name: 'default', reason: 'maintenance', ...(until && { until }) });

async function states(): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ state: string; count: number }>(
    'select state, count(*)::integer as count from millrace.runs group by state',
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

async function enqueue(count: number): Promise<void> {
  const items = Array.from({ length: count }, () => ({ definition: ok, args: {} }));
  await createJobClient({ pool: database.pool }).enqueueMany(items);
}

async function lastStart(): Promise<Date | null> {
  const { rows } = await database.pool.query<{ last: Date | null }>(
    'select max(started_at) as last from millrace.runs',
  );
  return rows[0]?.last ?? null;
}

const allSucceeded = (count: number) =>
  until(`${count} runs succeeded`, async () => (await states())['succeeded'] === count);

async function actions(): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    `select concat_ws(' ', action, outcome, subject, reason) as text from millrace.audit_events order by id`,
  );
  return rows.map(({ text }) => text);
}

describe('pauseQueue', () => {
  it('lets nothing start after 2 s under load, accepts everything, and resumes', async () => {
    await start();
    await start();
    await enqueue(2_000);
    const { pausedAt } = await pause();
    await enqueue(500);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const before = await states();
    const last = await lastStart();
    expect((last ?? new Date(0)).getTime() - Number(pausedAt)).toBeLessThan(2_000);

    await enqueue(500);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await states()).toEqual({ ...before, queued: (before['queued'] ?? 0) + 500 });

    await resumeQueue(operator(), { name: 'default' });
    await allSucceeded(3_000);
    const { rows } = await database.pool.query(
      'select run_id from millrace.executions group by 1 having count(*) > 1',
    );
    expect(rows).toEqual([]);
    expect(await actions()).toEqual([
      'jobs.queue.paused done default maintenance',
      'jobs.queue.resumed done default',
    ]);
  });

  it('may be paused and resumed again and again under load', { timeout: 60_000 }, async () => {
    await start();
    await start();
    await enqueue(3_000);
    for (let round = 0; round < 15; round++) {
      await pause();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      await resumeQueue(operator(), { name: 'default' });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    }
    await allSucceeded(3_000);
    expect(await database.db.execution.count({ where: { outcome: 'succeeded' } })).toBe(3_000);
    // Both still fetch: what is enqueued now is taken at once.
    await enqueue(200);
    await allSucceeded(3_200);
  });

  it('survives a restart of every worker', async () => {
    await pause();
    await enqueue(10);
    const { worker } = await start();
    await worker.stop();
    await start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await states()).toEqual({ queued: 10 });
    await resumeQueue(operator(), { name: 'default', reason: 'done' });
    await allSucceeded(10);
  });

  it('ends by itself at its time', async () => {
    await start();
    await pause(new Date(Date.now() + 1_500));
    await enqueue(5);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await states()).toEqual({ queued: 5 });
    await allSucceeded(5);
    expect(await getQueue(viewer(), { name: 'default' })).toMatchObject({
      paused: false,
      pauseReason: null,
    });
  });

  it('holds back one queue only, and lets what runs end', async () => {
    const { releaseAll } = await start({ queues: ['default', 'batch'] });
    await createJobClient({ pool: database.pool }).enqueue(slow, {});
    await until('it runs', async () => (await states())['running'] === 1);
    await pauseQueue(operator(), { name: 'batch', reason: 'maintenance' });
    await pause();
    releaseAll();
    await allSucceeded(1);
  });

  it('is effective when no process was told', { timeout: 60_000 }, async () => {
    await start();
    await database.pool.query(
      `update millrace.queues set paused_at = clock_timestamp(), pause_reason = 'x', paused_by = 'x' where name = 'default'`,
    );
    await enqueue(50);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await states()).toEqual({ queued: 50 });
    await database.pool.query(
      `update millrace.queues set paused_at = null, pause_reason = null, paused_by = null where name = 'default'`,
    );
    const resumedAt = Date.now();
    await until('all have run', async () => (await states())['succeeded'] === 50, 30_000);
    expect(Date.now() - resumedAt).toBeLessThan(30_000);
  });

  it.each([
    [{ name: 'nowhere', reason: 'x' }, 'queue_not_found'],
    [{ name: 'default', reason: ' ' }, 'invalid_request'],
    [{ name: 'default', reason: 'x', until: new Date(0) }, 'invalid_request'],
  ])('refuses %j', async (input, code) => {
    await expect(pauseQueue(operator(), input)).rejects.toMatchObject({ code });
    expect(await actions()).toEqual([]);
  });

  it('is denied to a viewer, as is resuming', async () => {
    const paused = pauseQueue(viewer(), { name: 'default', reason: 'x' });
    await expect(paused).rejects.toMatchObject({ code: 'forbidden' });
    const resumed = resumeQueue(viewer(), { name: 'default' });
    await expect(resumed).rejects.toMatchObject({ code: 'forbidden' });
    expect(await actions()).toEqual([
      'queues.pause denied default',
      'queues.resume denied default',
    ]);
  });
});

describe('resumeQueue', () => {
  it('changes nothing of a queue that is not paused', async () => {
    expect(await resumeQueue(operator(), { name: 'default' })).toMatchObject({ paused: false });
    expect(await actions()).toEqual([]);
  });
});

describe('listQueues', () => {
  it('says how each queue is doing', async () => {
    await start();
    await pauseQueue(operator(), { name: 'batch', reason: 'maintenance' });
    await createJobClient({ pool: database.pool }).enqueue(slow, {});
    await until('it runs', async () => (await states())['running'] === 1);
    const queues = await listQueues(viewer(), {});
    expect(queues.map(({ name, health }) => [name, health])).toEqual([
      ['batch', 'paused'],
      ['default', 'active'],
      ['mail', 'no workers'],
    ]);
    expect(queues[1]).toMatchObject({ running: 1, waiting: 0, workers: 1, more: false });
    expect(queues[0]).toMatchObject({ pauseReason: 'maintenance', pausedBy: 'Grace' });
    await expect(getQueue(viewer(), { name: 'nowhere' })).rejects.toMatchObject({
      code: 'queue_not_found',
    });
  });
});

describe('drainWorker', () => {
  it('lets it finish what it runs and take nothing more', async () => {
    const { worker, releaseAll } = await start();
    const client = createJobClient({ pool: database.pool });
    await client.enqueue(slow, {});
    await until('it runs', async () => (await states())['running'] === 1);
    await drainWorker(operator(), { id: worker.id(), reason: 'the host goes away' });
    await new Promise((resolve) => setTimeout(resolve, 500));
    await client.enqueue(ok, {});
    releaseAll();
    await until('what ran has ended', async () => (await states())['succeeded'] === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await states()).toEqual({ succeeded: 1, queued: 1 });
    expect(await listWorkers(viewer(), {})).toMatchObject([
      { id: worker.id(), drainingAt: expect.any(Date) },
    ]);
    await drainWorker(operator(), { id: worker.id(), reason: 'again' });
    expect(await actions()).toEqual([`jobs.worker.drained done ${worker.id()} the host goes away`]);
  });

  it('knows no worker that is not there, and is denied to a viewer', async () => {
    const gone = { id: '01900000-0000-7000-8000-000000000001', reason: 'x' };
    await expect(drainWorker(operator(), gone)).rejects.toMatchObject({ code: 'worker_not_found' });
    await expect(drainWorker(viewer(), gone)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await actions()).toEqual([`workers.drain denied ${gone.id}`]);
  });
});
