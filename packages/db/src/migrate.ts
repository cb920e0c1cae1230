import { join } from 'node:path';

import pg from 'pg';

import { migrateQueues } from './migrate-queues.ts';
import { createPool, databaseUrl, describeDatabase } from './pool.ts';
import { applyMigrations } from './prisma-history.ts';
import { queueSchema } from './queue-schema.ts';
import { serverVersionFault } from './server-version.ts';

export interface MigrateLog {
  info(about: object, message: string): void;
  warn(about: object, message: string): void;
}

export interface MigrateOptions {
  /** Of a role that may create schemas, connected directly: the lock belongs to the session. */
  readonly databaseUrl: string;
  /** Every queue that the code declares: each gets a graphile-worker schema `gw_<queue>`. */
  readonly queues: readonly string[];
  readonly log: MigrateLog;
  /** `prisma/migrations` of this checkout unless given. */
  readonly directory?: string;
  /** How long to wait for another migration; 60 s unless given. */
  readonly lockWaitMs?: number;
}

/** Prisma's own lock, so that `prisma migrate deploy` and this never work at the same time. */
const PRISMA_LOCK = 72_707_369;
const DIRECTORY = join(import.meta.dirname, '..', '..', '..', 'prisma', 'migrations');

/**
 * Brings the database up to date: the migrations under prisma/, recorded as Prisma records them, then
 * graphile-worker's for every queue. Several processes may call it at once; one works, the others find
 * it done. A migration that fails is undone as a whole. Throws an error that names what is wrong.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  options.queues.forEach(queueSchema); // refuses bad names before anything is touched
  const connectionString = databaseUrl(options.databaseUrl);
  const client = await connect(connectionString);
  try {
    const fault = await serverVersionFault(client);
    if (fault) throw new Error(fault);
    await takeLock(client, options.lockWaitMs ?? 60_000);
    await bringUpToDate(client, { ...options, databaseUrl: connectionString });
  } finally {
    await client.end();
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: 5_000,
    application_name: 'millrace migrate',
    keepAlive: true,
  });
  client.on('error', () => undefined); // the statement under way rejects
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw new Error(
      `The database ${describeDatabase(connectionString)} cannot be reached: ${reason(error)}`,
      { cause: error },
    );
  }
}

/** Node's error for a host with several addresses has its messages inside and none of its own. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join(', ');
  return error instanceof Error ? error.message : String(error);
}

async function takeLock(client: pg.Client, waitMs: number): Promise<void> {
  // Limits that the database or the role may have are meant for statements of every day.
  await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
  try {
    await client.query(`set lock_timeout = ${Math.max(1, Math.ceil(waitMs))}`);
    await client.query('select pg_advisory_lock($1)', [PRISMA_LOCK]);
    await client.query('set lock_timeout = 0');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === '55P03')) throw error;
    throw new Error(
      `Another migration has been running for ${waitMs / 1000} s; try again when it has ended`,
      { cause: error },
    );
  }
}

async function bringUpToDate(client: pg.Client, options: MigrateOptions): Promise<void> {
  const { databaseUrl: connectionString, queues, log } = options;
  const newer = await applyMigrations(client, {
    directory: options.directory ?? DIRECTORY,
    onApplied: (migration) => log.info({ migration }, 'migration applied'),
  });
  if (newer.length > 0) {
    log.warn({ migrations: newer }, 'the database has migrations of a newer version');
  }

  const pgPool = createPool({ connectionString, max: 2, applicationName: 'millrace migrate', log });
  try {
    const created = await migrateQueues(client, { pgPool, queues, log });
    for (const queue of created) log.info({ queue }, 'queue created');
  } finally {
    await pgPool.end();
  }
}
