import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { performInlineJob } from '../../testing/perform-job.ts';
import { handler } from './handler.ts';

const database = useDatabase();
const sweep = (limit: number) => performInlineJob(handler, { db: database.db, limit });

/** Sessions that expired, or will expire, this many minutes from now. */
async function addSessions(...minutes: number[]): Promise<string[]> {
  const data = minutes.map((ahead) => ({
    id: randomUUID(),
    expiresAt: new Date(Date.now() + ahead * 60_000),
  }));
  await database.db.session.createMany({ data });
  return data.map(({ id }) => id);
}
const left = async () => (await database.db.session.findMany()).map(({ id }) => id).toSorted();

describe('sweep_idle_sessions', () => {
  it('finds nothing to do', async () => {
    expect(await sweep(10)).toEqual({ count: 0, more: false });
  });

  it('deletes expired sessions and no others', async () => {
    const [, , alive] = await addSessions(-10, -1, 10);
    expect(await sweep(10)).toEqual({ count: 2, more: false });
    expect(await left()).toEqual([alive]);
  });

  it('deletes no more than its limit, the longest expired first, and says that there is more', async () => {
    const [, second, , alive] = await addSessions(-30, -10, -20, 10);
    expect(await sweep(2)).toEqual({ count: 2, more: true });
    expect(new Set(await left())).toEqual(new Set([second, alive]));
    expect(await sweep(2)).toEqual({ count: 1, more: false });
    expect(await left()).toEqual([alive]);
  });

  it('shares the work with a sweep that runs beside it', async () => {
    await addSessions(...Array.from({ length: 40 }, (_, n) => -1 - n));
    const sweeps = await Promise.all([sweep(20), sweep(20), sweep(20)]);
    expect(sweeps.reduce((sum, { count }) => sum + count, 0)).toBe(40);
    expect(await left()).toEqual([]);
  });
});
