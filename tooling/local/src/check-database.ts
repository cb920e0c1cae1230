import pg from 'pg';

import { Fault, describeFault } from './fault.ts';

const MINIMUM_MAJOR = 14;
const TIMEOUT_MS = 8000;

/** Throws a `Fault` of one line, without the password, unless this server can be used. */
export async function checkDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: TIMEOUT_MS });
  // Of a connection that breaks while it is idle; the query tells as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    const version = rows[0]?.server_version ?? '';
    if (Number.parseInt(version, 10) < MINIMUM_MAJOR) {
      throw new Fault(`it runs PostgreSQL ${version}; Millrace needs ${MINIMUM_MAJOR} or newer`);
    }
  } catch (error) {
    throw new Fault(`DATABASE_URL (${place(url)}) cannot be used: ${withoutPassword(error, url)}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function place(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || '5432'}${pathname}`;
}

function withoutPassword(error: unknown, url: string): string {
  const { password } = new URL(url);
  const text = describeFault(error);
  // A short one is part of ordinary words: cutting it out would tell it.
  if (password.length < 6) return text;
  return text.replaceAll(password, '…').replaceAll(safeDecode(password), '…');
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
