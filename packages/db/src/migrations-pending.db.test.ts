import { randomBytes } from 'node:crypto';

import { describe, expect, it, vi } from 'vitest';

import { GRAPHILE_MIGRATION, migrationsPending } from './migrations-pending.ts';
import { migrations } from './migrations.gen.ts';
import { createPool } from './pool.ts';
import { createTestDatabase, useDatabase } from './testing.ts';
import { TEST_QUEUES } from './testing-template.ts';

const NAMES = migrations.map(({ name }) => name);
const SCHEMAS = TEST_QUEUES.map((queue) => `gw_${queue}`);

/** Runs the check in a database of its own after these statements. */
async function pendingAfter(sql: string, options: { empty?: boolean } = {}): Promise<string[]> {
  const own = await createTestDatabase(options);
  const log = { warn: () => undefined };
  const pool = createPool({ connectionString: own.url, max: 1, applicationName: 'test', log });
  try {
    await pool.query(sql);
    return await migrationsPending(pool, TEST_QUEUES);
  } finally {
    await pool.end();
    await own.drop();
  }
}

describe('migrationsPending', () => {
  const database = useDatabase();

  it('names everything in an empty database', async () => {
    expect(await pendingAfter('select', { empty: true })).toEqual([...NAMES, ...SCHEMAS]);
  });

  it('is empty after migrate', async () => {
    expect(await migrationsPending(database.pool, TEST_QUEUES)).toEqual([]);
  });

  it('names the one queue that is missing', async () => {
    expect(await migrationsPending(database.pool, [...TEST_QUEUES, 'reports'])).toEqual([
      'gw_reports',
    ]);
  });

  it('names a queue whose graphile-worker schema is old or empty', async () => {
    expect(
      await pendingAfter(`delete from gw_mail.migrations where id = ${GRAPHILE_MIGRATION};
                          delete from gw_batch.migrations`),
    ).toEqual(['gw_batch', 'gw_mail']);
  });

  it('names a queue that was not completed', async () => {
    expect(await pendingAfter("delete from millrace.queues where name = 'batch'")).toEqual([
      'gw_batch',
    ]);
  });

  it('answers when the code has no queue', async () => {
    expect(await migrationsPending(database.pool, [])).toEqual([]);
  });

  it('asks once', async () => {
    const query = vi.spyOn(database.pool, 'query');
    await migrationsPending(database.pool, TEST_QUEUES);
    expect(query).toHaveBeenCalledTimes(1);
    query.mockRestore();
  });

  it('needs no more than the right to read', async () => {
    const role = `reader_${randomBytes(5).toString('hex')}`;
    await database.pool.query(`
      create role ${role};
      grant usage on schema millrace, gw_default to ${role};
      grant select on millrace._prisma_migrations, millrace.queues, gw_default.migrations to ${role}`);
    const reader = createPool({
      connectionString: `${database.url}?options=-c%20role%3D${role}`,
      max: 1,
      applicationName: 'test',
      log: { warn: () => undefined },
    });
    try {
      expect(await migrationsPending(reader, ['default'])).toEqual([]);
    } finally {
      await reader.end();
      await database.pool.query(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('names a migration that did not end or was rolled back', async () => {
    expect(
      await pendingAfter('update millrace._prisma_migrations set rolled_back_at = now()'),
    ).toEqual(NAMES);
    expect(await pendingAfter('update millrace._prisma_migrations set finished_at = null')).toEqual(
      NAMES,
    );
  });
});

describe('GRAPHILE_MIGRATION', () => {
  const database = useDatabase();

  it('is the newest migration that the pinned graphile-worker applies', async () => {
    const { rows } = await database.pool.query(
      'select max(id) as newest from gw_default.migrations',
    );
    expect(rows).toEqual([{ newest: GRAPHILE_MIGRATION }]);
  });
});
