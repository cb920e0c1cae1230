import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import { createJobClient, type JobClient } from '../engine/enqueue-run.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { drain } from './drain.ts';
import { expectEnqueued } from './expect-enqueued.ts';
import { createTestRegistry } from './test-handlers.ts';
import { cancelling, fatally, flaky, ok, parent, slow, snoozing, throwing } from './test-jobs.ts';

const database = useDatabase();
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});
const nothing = {
  executions: 0,
  succeeded: 0,
  retrying: 0,
  failed: 0,
  cancelled: 0,
  waiting: 0,
  errors: [],
};

describe('drain', () => {
  it('has nothing to do', async () => {
    expect(await drain(database, createTestRegistry().registry)).toEqual(nothing);
  });

  it('executes what waits, in every queue', async () => {
    const inQueue = (queue: string) => Object.freeze({ ...ok, queue });
    for (const queue of ['default', 'batch', 'mail']) await client.enqueue(inQueue(queue), {});
    const { registry, calls } = createTestRegistry();
    expect(await drain(database, registry)).toEqual({ ...nothing, executions: 3, succeeded: 3 });
    expect(calls).toHaveLength(3);
  });

  it('executes what is enqueued meanwhile', async () => {
    await client.enqueue(parent, {});
    const { registry } = createTestRegistry();
    expect(await drain(database, registry)).toMatchObject({ executions: 2, succeeded: 2 });
    await expectEnqueued(database, ok, { args: { note: 'from the parent' } });
  });

  it('repeats what is to be repeated at once, and tells what went wrong', async () => {
    await client.enqueue(flaky, { failures: 2 });
    await client.enqueue(snoozing, { times: 2 });
    const { errors, ...counts } = await drain(database, createTestRegistry().registry);
    expect(counts).toMatchObject({ executions: 6, succeeded: 2, waiting: 0 });
    expect(errors).toEqual([
      'test.flaky: Error: attempt 1 fails',
      'test.flaky: Error: attempt 2 fails',
    ]);
  });

  it('counts what failed and what was cancelled', async () => {
    await client.enqueue(throwing, { what: 'null' });
    await client.enqueue(fatally, {});
    await client.enqueue(cancelling, {});
    const { registry } = createTestRegistry();
    expect(await drain(database, registry)).toMatchObject({
      executions: 3,
      failed: 2,
      cancelled: 1,
      errors: [expect.any(String), expect.any(String)],
    });
  });

  it('leaves what waits for a later time, and counts only what is new', async () => {
    await client.enqueue(ok, {}, { delayMs: 60_000 });
    await client.enqueue(ok, {});
    const { registry } = createTestRegistry();
    expect(await drain(database, registry)).toMatchObject({ succeeded: 1, waiting: 1 });
    expect(await drain(database, registry)).toEqual({ ...nothing, waiting: 1 });
  });

  it('leaves what the registry does not know', async () => {
    await client.enqueue(slow, {});
    const { registry } = createTestRegistry({ only: [ok] });
    expect(await drain(database, registry)).toEqual({ ...nothing, waiting: 1 });
  });

  it('gives up on a run that does not end', async () => {
    await client.enqueue(slow, {});
    const { registry } = createTestRegistry();
    await expect(drain(database, registry, { deadlineMs: 200 })).rejects.toThrow(
      'not drained in 200 ms: a run of test.slow is running',
    );
    expect(await database.db.run.findFirst()).toMatchObject({ state: 'queued', attempt: 0 });
  });

  it('takes handlers that the test writes itself', async () => {
    const greet = defineJob({
      name: 'test.greet',
      description: 'Greets.',
      args: z.object({ name: z.string() }),
      newArgs: () => ({ name: 'nobody' }),
    });
    const registry = createRegistry({
      definitions: [greet],
      queues: { default: { concurrency: 1, prefetch: 0 } },
      handlers: { 'test.greet': () => Promise.resolve(async () => ({ greeted: 1 })) },
    });
    await client.enqueue(greet, { name: 'Ada' });
    expect(await drain(database, registry)).toMatchObject({ succeeded: 1, errors: [] });
  });
});
