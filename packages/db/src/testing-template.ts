import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import pg from 'pg';

import { migrate } from './migrate.ts';
import { GRAPHILE_MIGRATION } from './migrations-pending.ts';
import { databaseUrl } from './pool.ts';

/** The queues that every test database has. */
export const TEST_QUEUES = ['default', 'batch', 'mail'] as const;

const TEMPLATE_PREFIX = 'millrace_template_';
const CLONE_PREFIX = 'millrace_test_';
/** What an earlier run left behind is removed once it is surely not in use any more. */
const LEFT_BEHIND_AFTER = '6 hours';
/** Serialises the making of templates and clones among test runs on one server. */
const TEMPLATE_LOCK = 72_707_370;

/** `TEST_DATABASE_URL`, or an error that tells how to get one. */
export function testServerUrl(): string {
  const url = process.env['TEST_DATABASE_URL'];
  if (!url) {
    throw new Error(
      'TEST_DATABASE_URL is not set: database tests need the URL of a PostgreSQL superuser (./bin/test sets it)',
    );
  }
  return databaseUrl(url);
}

/** The same server, another database. */
export function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.toString();
}

/** Runs statements on the server itself, outside any test database. */
export async function onServer<Result>(
  serverUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: serverUrl,
    connectionTimeoutMillis: 5_000,
    application_name: 'millrace tests',
  });
  client.on('error', () => undefined); // the statement under way rejects
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Where the migrations of this checkout stand. */
export const MIGRATIONS_DIRECTORY = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'prisma',
  'migrations',
);

/** Changes with everything that a migrated database depends on. */
function templateName(): string {
  const hash = createHash('sha256').update(JSON.stringify([TEST_QUEUES, GRAPHILE_MIGRATION]));
  for (const file of readdirSync(MIGRATIONS_DIRECTORY, {
    recursive: true,
    encoding: 'utf8',
  }).sort()) {
    if (file.endsWith('.sql'))
      hash.update(file).update(readFileSync(join(MIGRATIONS_DIRECTORY, file)));
  }
  return TEMPLATE_PREFIX + hash.digest('hex').slice(0, 16);
}

/**
 * The name of a fully migrated database to clone. It is made under another name and renamed when it is
 * complete, so that a run that was cut off leaves no half-made template.
 */
export async function ensureTemplate(serverUrl: string): Promise<string> {
  const name = templateName();
  await onServer(serverUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await dropLeftBehind(client, name);
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount === 0) await makeTemplate(client, serverUrl, name);
  });
  return name;
}

async function makeTemplate(client: pg.Client, serverUrl: string, name: string): Promise<void> {
  const unfinished = `${name}_unfinished`;
  await client.query(`drop database if exists ${unfinished} with (force)`);
  await client.query(`create database ${unfinished}`);
  const log = { info: () => undefined, warn: () => undefined };
  await migrate({ databaseUrl: urlOf(serverUrl, unfinished), queues: TEST_QUEUES, log });
  await client.query(`alter database ${unfinished} rename to ${name}`);
}

async function dropLeftBehind(client: pg.Client, template: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select datname as name from pg_database
      where (starts_with(datname, $1) or starts_with(datname, $2)) and datname <> $3
        and (pg_stat_file('base/' || oid || '/PG_VERSION', true)).modification
            < now() - interval '${LEFT_BEHIND_AFTER}'`,
    [TEMPLATE_PREFIX, CLONE_PREFIX, template],
  );
  for (const { name } of rows) await dropDatabase(client, name);
}

/** A prefix for the names of the databases of one test run. */
export function clonePrefix(): string {
  return `${CLONE_PREFIX}${randomBytes(5).toString('hex')}_`;
}

/** Makes a database and returns its name. `template0` makes an empty one. */
export async function cloneDatabase(
  serverUrl: string,
  { template, prefix }: { template: string; prefix: string },
): Promise<string> {
  const name = prefix + randomBytes(5).toString('hex');
  await onServer(serverUrl, (client) =>
    client.query(`create database ${name} template ${template}`),
  );
  return name;
}

/** Drops it, whoever is still connected. */
export async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
}

/** Drops every database whose name starts so. */
export async function dropDatabases(serverUrl: string, prefix: string): Promise<void> {
  await onServer(serverUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select datname as name from pg_database where starts_with(datname, $1)',
      [prefix],
    );
    for (const { name } of rows) await dropDatabase(client, name);
  });
}
