import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { deaf, flaky, slow } from '../testing/test-jobs.ts';
import { until } from '../testing/until.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { cancelRun } from './cancel-run.ts';
import { createJobClient } from './enqueue-run.ts';

const database = useDatabase();
const start = useWorkers(database);
const client = () => createJobClient({ pool: database.pool });
const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const over = (id: string) =>
  until('the run is over', async () => {
    const found = await run(id);
    return found.finishedAt && found;
  });

const ALLOWED = {
  cancelled: ['cancelled'],
  requested: ['cancelled', 'succeeded'],
  finished: ['succeeded'],
  unknown: [],
};

describe('cancelRun', () => {
  it('ends a waiting run at once, and no worker meets it any more', async () => {
    const { runId } = await client().enqueue(slow, {});
    expect(await cancelRun(database.pool, runId)).toBe('cancelled');
    expect(await run(runId)).toMatchObject({
      state: 'cancelled',
      endCode: 'cancelled',
      ticket: null,
      execution: 0,
    });
    const { calls } = await start();
    const after = await client().enqueue(flaky, { failures: 0 });
    await over(after.runId);
    expect(calls.map((call) => call.runId)).toEqual([after.runId]);
  });

  it('ends a run that waits for its next attempt', async () => {
    const { runId } = await client().enqueue(flaky, { failures: 9 });
    const { worker } = await start();
    await until('it has failed once', async () => (await run(runId)).attempt > 0);
    const verdict = await cancelRun(database.pool, runId);
    expect(await over(runId)).toMatchObject({ state: 'cancelled' });
    expect(['cancelled', 'requested']).toContain(verdict);
    await until('nothing runs', () => worker.running() === 0);
  });

  it('fires the signal of a running handler', async () => {
    const { runId } = await client().enqueue(slow, {});
    const { calls } = await start();
    const call = await until('it runs', () => calls[0]);
    expect(await cancelRun(database.pool, runId)).toBe('requested');
    const ended = await over(runId);
    expect(call.aborted()).toBe('cancelled');
    expect(ended).toMatchObject({ state: 'cancelled', endCode: 'cancelled', attempt: 1 });
  });

  it('ends a run whose handler ignores its signal', async () => {
    const { runId } = await client().enqueue(deaf, {});
    const { calls } = await start();
    await until('it runs', () => calls[0]);
    await cancelRun(database.pool, runId);
    expect(await over(runId)).toMatchObject({ state: 'cancelled' });
  });

  it('says that a run has finished, or is unknown, and changes nothing', async () => {
    const { runId } = await client().enqueue(flaky, { failures: 0 });
    await start();
    const before = await over(runId);
    expect(await cancelRun(database.pool, runId)).toBe('finished');
    expect(await run(runId)).toEqual(before);
    expect(await cancelRun(database.pool, randomUUID())).toBe('unknown');
  });

  it('meets completion with one outcome, whichever comes first', async () => {
    await start({ queues: ['default'] });
    for (let round = 0; round < 50; round++) {
      const { runId } = await client().enqueue(flaky, { failures: 0 });
      const verdict = await cancelRun(database.pool, runId);
      const ended = await over(runId);
      expect(ALLOWED[verdict]).toContain(ended.state);
    }
  });
});
