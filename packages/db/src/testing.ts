import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest';

import { createDb, type Db, SCHEMA } from './client.ts';
import { createPool } from './pool.ts';
import type {} from './testing-global-setup.ts';
import { cloneDatabase, dropDatabase, onServer, urlOf } from './testing-template.ts';

/** A database of one test's own. */
export interface OwnDatabase {
  readonly url: string;
  /** Drops it, whoever is still connected. */
  drop(): Promise<void>;
}

/**
 * Makes a database for one test. It is migrated like the others, with the queues default, batch and
 * mail, or empty with `{ empty: true }`. Drop it at the end; the end of the run drops what is left.
 */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<OwnDatabase> {
  const { serverUrl, template, prefix } = inject('testDatabase');
  const name = await cloneDatabase(serverUrl, {
    template: options.empty ? 'template0' : template,
    prefix,
  });
  return {
    url: urlOf(serverUrl, name),
    drop: () => onServer(serverUrl, (client) => dropDatabase(client, name)),
  };
}

export interface TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly db: Db;
  /** The current test may leave invariants violated. */
  allowViolations(): void;
}

export interface UseDatabaseOptions {
  /** No test of this file or `describe` is held to the invariants. */
  readonly expectViolations?: boolean;
  /** Connections of `pool`, 10 unless given. */
  readonly poolSize?: number;
}

/**
 * A migrated database for the tests of this file or `describe`; call it at the top. After each test it
 * asserts that no invariant is violated and empties the tables. It waits for nothing: stop workers and
 * end transactions in the test or in an `afterEach` (vitest runs those before this one), not in
 * `onTestFinished`.
 */
export function useDatabase(options: UseDatabaseOptions = {}): TestDatabase {
  let opened: { own: OwnDatabase; pool: pg.Pool; db: Db } | undefined;
  let violationsAllowed = false;
  const get = (): NonNullable<typeof opened> => {
    if (!opened) throw new Error('useDatabase(): the database is there only while tests run');
    return opened;
  };

  beforeAll(async () => {
    const own = await createTestDatabase();
    const pool = createPool({
      connectionString: own.url,
      max: options.poolSize ?? 10,
      applicationName: 'millrace tests',
      log: { warn: () => undefined }, // dropping the database breaks what a test left open
    });
    opened = { own, pool, db: createDb(pool) };
  });
  beforeEach(() => {
    violationsAllowed = options.expectViolations ?? false;
  });
  afterEach(async () => {
    const { pool } = get();
    const violations = violationsAllowed ? [] : await invariantViolations(pool);
    await emptyTables(pool);
    expect(violations, 'millrace.invariant_violations after the test').toEqual([]);
  });
  afterAll(async () => {
    if (!opened) return;
    const { own, pool, db } = opened;
    opened = undefined;
    await db.$disconnect();
    await pool.end();
    await own.drop();
  });

  return {
    get url() {
      return get().own.url;
    },
    get pool() {
      return get().pool;
    },
    get db() {
      return get().db;
    },
    allowViolations() {
      violationsAllowed = true;
    },
  };
}

export interface InvariantViolation {
  readonly invariant: string;
  readonly run_id: string;
  readonly detail: string;
}

/** What the view of violated invariants shows now. */
export async function invariantViolations(pool: pg.Pool): Promise<InvariantViolation[]> {
  const { rows } = await pool.query<InvariantViolation>(
    `select invariant, run_id, detail from ${SCHEMA}.invariant_violations order by 1, 2`,
  );
  return rows;
}

/**
 * Every table of Millrace but its histories and queues, and all graphile jobs. Deleting from small
 * tables is several times faster than truncating them. A transaction that a test left open would block
 * it: the limit turns that into an error.
 */
const EMPTY_TABLES = `
do $$
declare
  t regclass;
begin
  set local lock_timeout = '5s';
  set local session_replication_role = replica; -- no triggers
  for t in
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition
       and (n.nspname = '${SCHEMA}' and c.relname not in ('_prisma_migrations', 'queues', 'search_index')
            or starts_with(n.nspname, 'gw_') and c.relname in ('_private_jobs', '_private_job_queues'))
  loop
    execute format('delete from %s', t);
  end loop;
  delete from ${SCHEMA}.search_index;
  insert into ${SCHEMA}.search_index default values;
  update ${SCHEMA}.queues set paused_at = null, paused_until = null, pause_reason = null, paused_by = null
   where paused_at is not null;
end $$`;

async function emptyTables(pool: pg.Pool): Promise<void> {
  await pool.query(EMPTY_TABLES);
}
