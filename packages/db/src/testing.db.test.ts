import { afterAll, describe, expect, it } from 'vitest';

import { createTestDatabase, invariantViolations, useDatabase } from './testing.ts';

const insertQueued = `select millrace.enqueue('test.echo', '{}') as id`;

describe('useDatabase', () => {
  const database = useDatabase();

  it('gives pg and Prisma over the same database', async () => {
    await database.pool.query(insertQueued);
    expect(await database.db.run.findMany({ select: { definition: true, state: true } })).toEqual([
      { definition: 'test.echo', state: 'queued' },
    ]);
  });

  it('starts every test with empty tables', async () => {
    expect(await database.db.run.count()).toBe(0);
    const { rows } = await database.pool.query('select * from gw_default.jobs');
    expect(rows).toEqual([]);
    expect(await database.db.queue.count()).toBe(3);
    expect(await database.db.searchIndex.findMany()).toMatchObject([{ currentGeneration: 0 }]);
  });

  it('lets a test leave violations when it says so', async () => {
    database.allowViolations();
    await database.pool.query(insertQueued);
    await database.pool.query('delete from gw_default._private_jobs');
    expect(await invariantViolations(database.pool)).toMatchObject([
      { invariant: 'live_run_has_its_ticket' },
    ]);
  });

  it.fails('fails a test that leaves a violation', async () => {
    await database.pool.query(insertQueued);
    await database.pool.query('delete from gw_default._private_jobs');
  });
});

describe('createTestDatabase', () => {
  const left: { drop(): Promise<void> }[] = [];
  afterAll(() => Promise.all(left.map((database) => database.drop())));

  it('gives every caller a database of its own', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    left.push(one, other);
    expect(one.url).not.toBe(other.url);
  });
});
