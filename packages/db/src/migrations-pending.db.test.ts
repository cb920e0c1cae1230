import { describe, expect, it } from 'vitest';

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
