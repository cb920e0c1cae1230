import type pg from 'pg';

import { SCHEMA } from './client.ts';
import { migrations } from './migrations.gen.ts';

/** The newest migration of the pinned graphile-worker; a test compares it with what that applies. */
export const GRAPHILE_MIGRATION = 20;

/**
 * Names of the migrations that the database lacks, of both histories: those under prisma/, and
 * `gw_<queue>` for every queue whose graphile-worker schema is missing or old. Empty when up to date.
 * Reads no files and takes no locks.
 */
export async function migrationsPending(
  pool: pg.Pool,
  queues: readonly string[],
): Promise<string[]> {
  const schemas = queues.map((queue) => `gw_${queue}`);
  const { rows } = await pool.query<{ table_name: string }>(
    `select t.name as table_name from unnest($1::text[]) t (name) where to_regclass(t.name) is not null`,
    [[`${SCHEMA}._prisma_migrations`, ...schemas.map((schema) => `${schema}.migrations`)]],
  );
  const existing = new Set(rows.map((row) => row.table_name));

  const parts: string[] = [];
  if (existing.has(`${SCHEMA}._prisma_migrations`)) {
    parts.push(`select migration_name::text as name from ${SCHEMA}._prisma_migrations
                 where finished_at is not null and rolled_back_at is null`);
  }
  for (const schema of schemas.filter((each) => existing.has(`${each}.migrations`))) {
    parts.push(`select '${schema}' from "${schema}".migrations having max(id) >= ${GRAPHILE_MIGRATION}`);
  }
  const applied =
    parts.length > 0 ? await pool.query<{ name: string }>(parts.join(' union all ')) : { rows: [] };
  const done = new Set(applied.rows.map((row) => row.name));
  return [...migrations.map(({ name }) => name), ...schemas].filter((name) => !done.has(name));
}
