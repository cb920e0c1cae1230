import pg from 'pg';

import { hasCode } from './fault.ts';

const DUPLICATE_DATABASE = '42P04';

/** Makes the database that the URL names, unless it exists. */
export async function createDatabase(url: string): Promise<void> {
  const server = new URL(url);
  const name = server.pathname.slice(1);
  server.pathname = '/postgres';
  const client = new pg.Client({
    connectionString: server.toString(),
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    const existing = await client.query('select from pg_database where datname = $1', [name]);
    if (existing.rowCount === 0)
      await client.query(`create database ${client.escapeIdentifier(name)}`);
  } catch (error) {
    if (!hasCode(error, DUPLICATE_DATABASE)) throw error;
  } finally {
    await client.end();
  }
}
