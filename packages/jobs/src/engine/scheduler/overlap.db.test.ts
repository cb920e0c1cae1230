import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { JobDefinition, OverlapPolicy } from '../../contract/definition.ts';
import { createTestRegistry } from '../../testing/test-handlers.ts';
import { slow } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createTriggerJob, type TriggeredJob } from './trigger-job.ts';

const database = useDatabase();
const start = useWorkers(database);
const withOverlap = (overlap: OverlapPolicy): JobDefinition => ({ ...slow, overlap });

async function trigger(definition: JobDefinition, idempotencyKey: string): Promise<TriggeredJob> {
  return createTriggerJob(database.pool)(definition, { idempotencyKey, slot: null, context: {} });
}
const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });

/** A run of the definition that is executing, and the worker that executes it. */
async function running(definition: JobDefinition) {
  const jobs = createTestRegistry({ only: [definition] });
  const worker = await start({ jobs });
  const first = await trigger(definition, 'first-key');
  await until('the first runs', () => jobs.calls[0]);
  return { ...worker, first: first.job.jobId };
}

describe('a new key while a run of the definition is unfinished', () => {
  it('coalesces: one waits beside the one that runs, and further keys join it', async () => {
    const definition = withOverlap('coalesce');
    const { first, calls } = await running(definition);
    const second = await trigger(definition, 'second-key');
    const third = await trigger(definition, 'third-key');
    expect(second).toMatchObject({ replayed: false });
    expect(second.job.jobId).not.toBe(first);
    expect(third).toMatchObject({ replayed: true, job: { jobId: second.job.jobId } });
    expect(await trigger(definition, 'third-key')).toMatchObject({
      replayed: true,
      job: { jobId: second.job.jobId },
    });

    expect(calls).toHaveLength(1);
    expect((await run(second.job.jobId)).state).toBe('queued');
    calls[0]?.release();
    const next = await until('the second runs', () => calls[1]);
    expect(next.runId).toBe(second.job.jobId);
    expect((await run(first)).state).toBe('succeeded');
  });

  it('skips: the key joins the run that is there', async () => {
    const definition = withOverlap('skip');
    const { first, calls } = await running(definition);
    expect(await trigger(definition, 'second-key')).toMatchObject({
      replayed: true,
      job: { jobId: first, status: 'running' },
    });
    calls[0]?.release();
    await until('it is over', async () => (await run(first)).finishedAt);
    expect(await trigger(definition, 'second-key')).toMatchObject({
      replayed: true,
      job: { jobId: first, status: 'succeeded', done: true },
    });
  });

  it('is allowed: both run side by side', async () => {
    const definition = withOverlap('allow');
    const { first, calls } = await running(definition);
    const second = await trigger(definition, 'second-key');
    expect(second.replayed).toBe(false);
    await until('both run', () => calls.length === 2);
    expect((await run(first)).state).toBe('running');
  });
});
