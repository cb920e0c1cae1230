import type pg from 'pg';

import { SCHEMA } from './client.ts';
import { migrations } from './migrations.gen.ts';
import { queueSchema } from './queue-schema.ts';

/** The newest migration of the pinned graphile-worker; a test compares it with what that applies. */
export const GRAPHILE_MIGRATION = 20;

/**
 * Names of the migrations that the database lacks, of both histories: those under prisma/, and
 * `gw_<queue>` for every queue that is missing or whose graphile-worker schema is old. Empty when up to
 * date. One round trip; reads no files and takes no locks.
 */
export async function migrationsPending(
  pool: pg.Pool,
  queues: readonly string[],
): Promise<string[]> {
  const schemas = queues.map(queueSchema);
  // Two statements in one message make an array of results, which the types of pg do not know.
  const [, { rows }] = (await pool.query(checkDone(schemas))) as unknown as [
    pg.QueryResult,
    pg.QueryResult<{ done: string[] }>,
  ];
  const done = new Set(rows[0]?.done);
  return [...migrations.map(({ name }) => name), ...schemas].filter((name) => !done.has(name));
}

/**
 * Only a block can look into a table that may not exist; only a setting leaves one without writing.
 * The names of the schemas are safe: queueSchema has checked them.
 */
const checkDone = (schemas: readonly string[]): string => `
do $check$
declare
  schema text;
  complete boolean;
  done text[] := '{}';
begin
  if to_regclass('${SCHEMA}._prisma_migrations') is not null then
    done := array(select migration_name::text from ${SCHEMA}._prisma_migrations
                   where finished_at is not null and rolled_back_at is null);
  end if;
  foreach schema in array array[${schemas.map((schema) => `'${schema}'`).join(', ')}]::text[] loop
    if to_regclass('${SCHEMA}.queues') is not null and to_regclass(schema || '.migrations') is not null then
      execute format('select exists (select from %I.migrations where id >= ${GRAPHILE_MIGRATION})', schema)
         into complete;
      if complete and exists (select from ${SCHEMA}.queues where 'gw_' || name = schema) then
        done := done || schema;
      end if;
    end if;
  end loop;
  perform set_config('millrace.done', to_json(done)::text, true);
end $check$;
select current_setting('millrace.done')::json as done`;
