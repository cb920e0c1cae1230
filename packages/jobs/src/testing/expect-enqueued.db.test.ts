import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import { createJobClient, type JobClient } from '../engine/enqueue-run.ts';
import { expectEnqueued } from './expect-enqueued.ts';

const report = defineJob({
  name: 'test.report',
  description: 'Sends a report.',
  args: z.object({ team: z.string(), to: z.array(z.string()), at: z.coerce.date().optional() }),
  newArgs: () => ({ team: 'all', to: [] }),
});
const other = defineJob({ name: 'test.other', description: 'Other.', args: z.object({}) });

const database = useDatabase();
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});
const enqueue = async (team: string, ...to: string[]) =>
  (await client.enqueue(report, { team, to })).runId;

describe('expectEnqueued', () => {
  it('finds the one run of a definition', async () => {
    const runId = await enqueue('a', 'ada');
    await client.enqueue(other, {});
    expect(await expectEnqueued(database, report)).toEqual([runId]);
  });

  it('compares the arguments that are named', async () => {
    const first = await enqueue('a', 'ada', 'bob');
    await enqueue('b', 'ada');
    expect(await expectEnqueued(database, report, { args: { team: 'a' } })).toEqual([first]);
    await expectEnqueued(database, report, { args: { to: ['ada', 'bob'] } });
    await expectEnqueued(database, report, { args: { to: ['bob', 'ada'] }, times: 0 });
    await expectEnqueued(database, report, { times: 2 });
  });

  it('compares what was stored: a date as its text', async () => {
    const at = new Date(0);
    await client.enqueue(report, { team: 'a', to: [], at });
    await expectEnqueued(database, report, { args: { at } });
  });

  it('tells what was enqueued instead', async () => {
    await expect(expectEnqueued(database, report)).rejects.toThrow(
      'runs of test.report with {}; enqueued with: nothing',
    );
    await enqueue('a');
    const failure = expectEnqueued(database, report, { args: { team: 'b' } });
    await expect(failure).rejects.toThrow(/with \{"team":"b"\}; enqueued with:\n {2}.*"team":"a"/);
  });

  it('fails when there are more', async () => {
    await enqueue('a');
    await enqueue('a');
    await expect(expectEnqueued(database, report)).rejects.toThrow('expected 2 to be 1');
    await expect(expectEnqueued(database, report, { times: 0 })).rejects.toThrow('to be +0');
  });
});
