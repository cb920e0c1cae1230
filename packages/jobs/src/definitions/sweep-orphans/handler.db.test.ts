import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { performInlineJob } from '../../testing/perform-job.ts';
import { handler } from './handler.ts';

const database = useDatabase();
const sweep = (limit: number) => performInlineJob(handler, { db: database.db, limit });

async function addBlob(runId: string | null, ageMinutes: number): Promise<string> {
  const id = randomUUID();
  await database.pool.query(
    `insert into millrace.blobs (id, run_id, kind, body, created_at)
     values ($1, $2, 'log', '\\x00', now() - $3 * interval '1 minute')`,
    [id, runId, ageMinutes],
  );
  return id;
}
async function addRun(): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `select millrace.enqueue('test.plain', '{}') as id`,
  );
  return rows[0]!.id;
}
const left = async () => (await database.db.blob.findMany()).map(({ id }) => id).toSorted();

describe('sweep_orphans', () => {
  it('removes blobs whose run is gone or never was', async () => {
    await addBlob(randomUUID(), 61);
    await addBlob(null, 10_000);
    expect(await sweep(10)).toEqual({ count: 2, more: false });
    expect(await left()).toEqual([]);
  });

  it('spares young blobs, whose run may not be committed yet, and those of a run', async () => {
    const young = await addBlob(randomUUID(), 59);
    const referenced = await addBlob(await addRun(), 10_000);
    await addBlob(randomUUID(), 61);
    expect(await sweep(10)).toEqual({ count: 1, more: false });
    expect(await left()).toEqual([young, referenced].toSorted());
  });

  it('removes no more than its limit, the oldest first, and says that there is more', async () => {
    await addBlob(null, 300);
    const youngest = await addBlob(null, 100);
    await addBlob(null, 200);
    expect(await sweep(2)).toEqual({ count: 2, more: true });
    expect(await left()).toEqual([youngest]);
    expect(await sweep(2)).toEqual({ count: 1, more: false });
  });
});
