import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { migrate, type MigrateOptions } from './migrate.ts';
import { migrations } from './migrations.gen.ts';
import { createTestDatabase, type OwnDatabase } from './testing.ts';
import { MIGRATIONS_DIRECTORY, onServer, TEST_QUEUES } from './testing-template.ts';

const NAMES = migrations.map(({ name }) => name);

let database: OwnDatabase;
let directory: string;
let logged: string[];

beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  directory = await mkdtemp(join(tmpdir(), 'millrace-migrations-'));
  await cp(MIGRATIONS_DIRECTORY, directory, { recursive: true });
  logged = [];
});
afterEach(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

function migrateIt(options: Partial<MigrateOptions> = {}): Promise<void> {
  const record = (about: object, message: string): void => {
    logged.push(`${message}: ${JSON.stringify(Object.values(about)[0])}`);
  };
  const log = { info: record, warn: record };
  return migrate({ databaseUrl: database.url, queues: TEST_QUEUES, log, directory, ...options });
}

async function addMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(directory, name), { recursive: true });
  await writeFile(join(directory, name, 'migration.sql'), sql);
}

function column(sql: string): Promise<unknown[]> {
  return onServer(database.url, async (client) => {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.map(([value]) => value);
  });
}

const history = (): Promise<unknown[]> =>
  column('select migration_name from millrace._prisma_migrations order by 1');
const relations = (): Promise<unknown[]> =>
  column(`select format('%s.%s %s', relnamespace::regnamespace, relname, oid) from pg_class
           where relnamespace::regnamespace::text ~ '^(millrace|gw_.*)$' order by 1`);
const schemas = (): Promise<unknown[]> =>
  column("select nspname from pg_namespace where nspname ~ '^(millrace|gw_.*)$' order by 1");

describe('migrate', () => {
  it('brings an empty database up to date and says what it did', async () => {
    await migrateIt();
    expect(await history()).toEqual(NAMES);
    expect(await schemas()).toEqual(['gw_batch', 'gw_default', 'gw_mail', 'millrace']);
    expect(await column('select name from millrace.queues order by 1')).toEqual([
      'batch',
      'default',
      'mail',
    ]);
    expect(logged).toEqual([
      ...NAMES.map((name) => `migration applied: "${name}"`),
      ...TEST_QUEUES.map((queue) => `queue created: "${queue}"`),
    ]);
  });

  it('records each migration as Prisma does', async () => {
    await migrateIt();
    expect(
      await column(`select jsonb_build_array(migration_name, checksum, applied_steps_count, logs,
                           rolled_back_at, finished_at >= started_at, length(id))
                      from millrace._prisma_migrations order by migration_name`),
    ).toEqual(migrations.map(({ name, checksum }) => [name, checksum, 1, null, null, true, 36]));
  });

  it('changes nothing the second time', async () => {
    await migrateIt();
    const before = await relations();
    logged = [];
    await migrateIt();
    expect(await relations()).toEqual(before);
    expect(await history()).toEqual(NAMES);
    expect(logged).toEqual([]);
  });

  it('adds a queue that is new and a migration that is new', async () => {
    await migrateIt({ queues: ['default'] });
    await addMigration('9001_more', 'create table millrace.more ()');
    logged = [];
    await migrateIt({ queues: ['default', 'reports'] });
    expect(logged).toEqual(['migration applied: "9001_more"', 'queue created: "reports"']);
    expect(await schemas()).toEqual(['gw_default', 'gw_reports', 'millrace']);
  });

  it('accepts the parameters of Prisma in the URL', async () => {
    await migrateIt({ databaseUrl: `${database.url}?schema=millrace&connection_limit=5` });
    expect(await history()).toEqual(NAMES);
  });

  it('lets eight processes start at once: one works, all succeed', async () => {
    const script = `
      const { migrate } = await import(${JSON.stringify(join(import.meta.dirname, 'migrate.ts'))});
      const log = { info: (about, message) => console.log(message), warn: console.log };
      await migrate({ databaseUrl: process.argv[1], queues: ${JSON.stringify(TEST_QUEUES)}, log });`;
    const outputs = await Promise.all(
      Array.from({ length: 8 }, () =>
        promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, database.url]),
      ),
    );
    const lines = outputs.flatMap(({ stdout }) => stdout.split('\n').filter(Boolean));
    expect(lines.filter((line) => line === 'migration applied')).toHaveLength(NAMES.length);
    expect(lines.filter((line) => line === 'queue created')).toHaveLength(TEST_QUEUES.length);
    expect(lines).toHaveLength(NAMES.length + TEST_QUEUES.length);
    expect(await history()).toEqual(NAMES);
  }, 60_000);

  it('undoes a migration that fails half-way and names it and the fault', async () => {
    await addMigration(
      '9001_broken',
      `create table millrace.half ();
       do $$ begin perform 1; end $$;
       insert into millrace.no_such_table values (1);
       create table millrace.other_half ();`,
    );
    await expect(migrateIt()).rejects.toThrow(
      /^Migration 9001_broken failed and was undone: relation "millrace.no_such_table" does not exist \(line 3\)$/,
    );
    expect(await history()).toEqual(NAMES);
    expect(await column("select to_regclass('millrace.half')::text")).toEqual([null]);
    expect(await schemas()).toEqual(['millrace']);
  });

  it('goes on from there once the migration is mended', async () => {
    await addMigration('9001_broken', 'create table millrace.half (); select 1 / 0;');
    await expect(migrateIt()).rejects.toThrow('division by zero');
    await addMigration('9001_broken', 'create table millrace.half ()');
    await migrateIt();
    expect(await history()).toEqual([...NAMES, '9001_broken']);
  });

  it('refuses a migration that was changed after it had been applied', async () => {
    await addMigration('9001_more', 'create table millrace.more ()');
    await migrateIt();
    await addMigration('9001_more', 'create table millrace.more (id integer)');
    await expect(migrateIt()).rejects.toThrow(
      'Migration 9001_more was changed after it had been applied',
    );
  });

  it('takes other line endings for the same migration, as Prisma does', async () => {
    await addMigration('9001_more', 'create table millrace.more ();\nselect 1;\n');
    await migrateIt();
    await addMigration('9001_more', 'create table millrace.more ();\r\nselect 1;\r\n');
    expect(await migrateIt()).toBeUndefined();
  });

  it('says what it applied before one that fails', async () => {
    await addMigration('9001_broken', 'select 1 / 0;');
    await expect(migrateIt()).rejects.toThrow('9001_broken');
    expect(logged).toEqual(NAMES.map((name) => `migration applied: "${name}"`));
  });

  it('means what Prisma means by a name without a schema', async () => {
    await addMigration('9001_more', 'create table more ()');
    await migrateIt();
    expect(
      await column("select relnamespace::regnamespace::text from pg_class where relname = 'more'"),
    ).toEqual(['millrace']);
  });

  it('refuses to go on after a migration that Prisma began and did not end', async () => {
    await migrateIt();
    const name = NAMES.at(-1) ?? '';
    await column(`update millrace._prisma_migrations set finished_at = null
                   where migration_name = '${name}'`);
    await expect(migrateIt()).rejects.toThrow(
      `Migration ${name} was begun by Prisma and did not end`,
    );
  });

  it('applies again what Prisma has rolled back', async () => {
    await addMigration('9001_more', 'create table if not exists millrace.more ()');
    await migrateIt();
    await column(`update millrace._prisma_migrations set finished_at = null, rolled_back_at = now()
                   where migration_name = '9001_more'`);
    await migrateIt();
    expect(await history()).toEqual([...NAMES, '9001_more', '9001_more']);
  });

  it('gives up when another migration holds the lock for too long', async () => {
    await onServer(database.url, async (other) => {
      await other.query('select pg_advisory_lock(72707369)');
      await expect(migrateIt({ lockWaitMs: 200 })).rejects.toThrow(
        'Another migration has been running for 0.2 s; try again when it has ended',
      );
    });
    await migrateIt();
  });

  it('goes on with the queues after it was cut off between them', async () => {
    await migrateIt();
    await column("delete from millrace.queues where name = 'mail'");
    logged = [];
    await migrateIt();
    expect(logged).toEqual(['queue created: "mail"']);
  });

  it("knows the tickets' task before the first ticket, and leaves no job behind", async () => {
    await migrateIt();
    expect(await column('select identifier from gw_mail._private_tasks')).toEqual(['run']);
    expect(await column('select count(*)::integer from gw_mail._private_jobs')).toEqual([0]);
  });

  it('is not held to limits that the database sets for statements of every day', async () => {
    await column('create schema millrace');
    const name = new URL(database.url).pathname.slice(1);
    await column(`alter database ${name} set statement_timeout = '100ms'`);
    await addMigration('0000_slow', 'select pg_sleep(0.3)');
    await migrateIt({ queues: [] });
    expect(await history()).toContain('0000_slow');
  });

  it('names the database that cannot be reached, and no password', async () => {
    const databaseUrl = 'postgres://user:s3cret@localhost:1/app';
    const failure = await migrateIt({ databaseUrl }).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: expect.stringMatching(
        /^The database localhost:1\/app cannot be reached: .*ECONNREF/,
      ),
    });
    expect(inspect(failure, { depth: null })).not.toContain('s3cret');
  });

  it('tolerates migrations of a newer version and warns of them', async () => {
    await addMigration('9001_newer', 'create table millrace.newer ()');
    await migrateIt();
    await rm(join(directory, '9001_newer'), { recursive: true });
    logged = [];
    await migrateIt();
    expect(logged).toEqual(['the database has migrations of a newer version: ["9001_newer"]']);
  });

  it('refuses a name that cannot be a queue before it touches the database', async () => {
    await expect(migrateIt({ queues: ['default', 'No"Queue'] })).rejects.toThrow(
      '"No"Queue" is not a queue name',
    );
    expect(await schemas()).toEqual([]);
  });
});
