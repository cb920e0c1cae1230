import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Logger as GraphileLogger, runMigrations } from 'graphile-worker';
import pg from 'pg';

import { SCHEMA } from './client.ts';
import { createPool, databaseUrl } from './pool.ts';
import { serverVersionFault } from './server-version.ts';

export interface MigrateLog {
  info(about: object, message: string): void;
  warn(about: object, message: string): void;
}

export interface MigrateOptions {
  readonly databaseUrl: string;
  /** Every queue that the code declares: each gets a graphile-worker schema `gw_<queue>`. */
  readonly queues: readonly string[];
  readonly log: MigrateLog;
  /** `prisma/migrations` of this checkout unless given. */
  readonly directory?: string;
}

/** Prisma's own lock, so that `prisma migrate deploy` and this never work at the same time. */
const PRISMA_LOCK = 72_707_369;
const LOCK_WAIT = '60s';
const QUEUE_NAME = /^[a-z][a-z0-9_]{0,59}$/;

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
 * Brings the database up to date: the migrations under prisma/, recorded as Prisma records them, then
 * graphile-worker's for every queue. Several processes may call it at once; one works, the others find
 * it done. A migration that fails is undone as a whole. Throws an error that names what is wrong.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  for (const queue of options.queues) {
    if (!QUEUE_NAME.test(queue)) throw new Error(`"${queue}" is not a queue name`);
  }
  const connectionString = databaseUrl(options.databaseUrl);
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: 5_000,
    application_name: 'millrace migrate',
  });
  client.on('error', () => undefined); // the statement under way rejects
  try {
    await client.connect();
    const fault = await serverVersionFault(client);
    if (fault) throw new Error(fault);
    await takeLock(client);
    await applyMigrations(client, options);
    await migrateQueues(client, connectionString, options);
  } finally {
    await client.end();
  }
}

async function takeLock(client: pg.Client): Promise<void> {
  try {
    await client.query(`set lock_timeout = '${LOCK_WAIT}'`);
    await client.query('select pg_advisory_lock($1)', [PRISMA_LOCK]);
    await client.query('set lock_timeout = 0');
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '55P03') {
      throw new Error(`Another migration has been running for ${LOCK_WAIT}; try again when it has ended`, {
        cause: error,
      });
    }
    throw error;
  }
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const bytes = await readFile(join(directory, name, 'migration.sql'));
      const checksum = createHash('sha256').update(bytes).digest('hex');
      return { name, sql: bytes.toString('utf8'), checksum };
    }),
  );
}

async function applyMigrations(client: pg.Client, options: MigrateOptions): Promise<void> {
  const migrations = await readMigrations(options.directory ?? defaultDirectory());
  await client.query(`create schema if not exists ${SCHEMA}`);
  await client.query(HISTORY_TABLE);
  const { rows: applied } = await client.query<{ migration_name: string; checksum: string }>(
    `select migration_name, checksum from ${SCHEMA}._prisma_migrations
      where finished_at is not null and rolled_back_at is null`,
  );
  const known = new Set(migrations.map(({ name }) => name));
  const newer = applied.map((row) => row.migration_name).filter((name) => !known.has(name));
  if (newer.length > 0) {
    options.log.warn({ migrations: newer }, 'the database has migrations of a newer version');
  }
  for (const migration of migrations) {
    const before = applied.find((row) => row.migration_name === migration.name);
    if (!before) await applyMigration(client, migration, options.log);
    else if (before.checksum !== migration.checksum) {
      throw new Error(
        `Migration ${migration.name} was changed after it had been applied: ` +
          'restore its file and write a new migration instead',
      );
    }
  }
}

function defaultDirectory(): string {
  return join(import.meta.dirname, '..', '..', '..', 'prisma', 'migrations');
}

async function applyMigration(client: pg.Client, migration: Migration, log: MigrateLog): Promise<void> {
  await client.query('begin');
  try {
    // One simple query: several statements, bodies with semicolons included.
    await client.query(migration.sql);
    await client.query(
      `insert into ${SCHEMA}._prisma_migrations
         (id, checksum, migration_name, finished_at, applied_steps_count)
       values ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw new Error(`Migration ${migration.name} failed and was undone: ${describe(error)}`, {
      cause: error,
    });
  }
  log.info({ migration: migration.name }, 'migration applied');
}

function describe(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return String(error);
  const where = error.position ? ` (at character ${error.position})` : '';
  return `${error.message}${where}`;
}

async function migrateQueues(
  client: pg.Client,
  connectionString: string,
  { queues, log }: MigrateOptions,
): Promise<void> {
  const pgPool = createPool({ connectionString, max: 2, applicationName: 'millrace migrate', log });
  try {
    for (const queue of queues) {
      await runMigrations({ pgPool, schema: `gw_${queue}`, logger: quietLogger() });
      const { rowCount } = await client.query(
        `insert into ${SCHEMA}.queues (name) values ($1) on conflict do nothing`,
        [queue],
      );
      if (rowCount === 1) log.info({ queue }, 'queue created');
    }
  } finally {
    await pgPool.end();
  }
}

function quietLogger(): GraphileLogger {
  return new GraphileLogger(() => () => undefined);
}
