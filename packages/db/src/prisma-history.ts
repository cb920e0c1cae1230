import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import pg from 'pg';

import { SCHEMA } from './client.ts';

/** A folder of prisma/migrations. */
interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** A row of `_prisma_migrations` that counts: applied, or begun by Prisma and never ended. */
interface HistoryRow {
  readonly name: string;
  readonly checksum: string;
  readonly ended: boolean;
}

/** Prisma's history table, as Prisma 7 creates it. */
const HISTORY_TABLE = `
create table if not exists ${SCHEMA}._prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

/**
 * Applies what is pending in the folder and records it as Prisma does; the caller holds Prisma's lock.
 * Each migration is one transaction: one that fails leaves nothing. Returns the names of those that the
 * database has and the folder has not.
 */
export async function applyMigrations(
  client: pg.Client,
  { directory, onApplied }: { directory: string; onApplied: (name: string) => void },
): Promise<string[]> {
  const migrations = await readMigrations(directory);
  await client.query(`create schema if not exists ${SCHEMA}`);
  await client.query(HISTORY_TABLE);
  const history = await readHistory(client);
  for (const row of history) refuseFault(row, migrations);

  const recorded = history.map(({ name }) => name);
  for (const migration of migrations.filter(({ name }) => !recorded.includes(name))) {
    await applyMigration(client, migration);
    onApplied(migration.name);
  }
  const known = migrations.map(({ name }) => name);
  return recorded.filter((name) => !known.includes(name));
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => ({
      name,
      sql: await readFile(join(directory, name, 'migration.sql'), 'utf8'),
    })),
  );
}

async function readHistory(client: pg.Client): Promise<HistoryRow[]> {
  const { rows } = await client.query<HistoryRow>(
    `select migration_name as name, checksum, finished_at is not null as ended
       from ${SCHEMA}._prisma_migrations where rolled_back_at is null order by migration_name`,
  );
  return rows;
}

function refuseFault(row: HistoryRow, migrations: readonly Migration[]): void {
  if (!row.ended) {
    throw new Error(
      `Migration ${row.name} was begun by Prisma and did not end: see what it left behind, then run ` +
        `prisma migrate resolve --rolled-back ${row.name}`,
    );
  }
  const sql = migrations.find(({ name }) => name === row.name)?.sql;
  if (sql !== undefined && !checksums(sql).includes(row.checksum)) {
    throw new Error(
      `Migration ${row.name} was changed after it had been applied: ` +
        'restore its file and write a new migration instead',
    );
  }
}

/** The file's checksum, and those that it has with other line endings, as Prisma compares them. */
function checksums(sql: string): string[] {
  const unix = sql.replaceAll('\r\n', '\n');
  return [sql, unix, unix.replaceAll('\n', '\r\n')].map(checksum);
}

function checksum(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

async function applyMigration(client: pg.Client, { name, sql }: Migration): Promise<void> {
  await client.query('begin');
  try {
    // Prisma's search path, so that a name without a schema means the same to both.
    await client.query(`set local search_path = ${SCHEMA}`);
    // One simple query: several statements, bodies with semicolons included.
    await client.query(sql);
    await client.query(
      `insert into ${SCHEMA}._prisma_migrations
         (id, checksum, migration_name, finished_at, applied_steps_count)
       values ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), checksum(sql), name],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw new Error(`Migration ${name} failed and was undone: ${describe(error, sql)}`, {
      cause: error,
    });
  }
}

function describe(error: unknown, sql: string): string {
  if (!(error instanceof pg.DatabaseError)) return String(error);
  if (error.position === undefined) return error.message;
  const line = sql.slice(0, Number(error.position)).split('\n').length;
  return `${error.message} (line ${line})`;
}
