import pg from 'pg';

/** The logger that a pool needs; pino satisfies it. */
export interface PoolLog {
  warn(about: object, message: string): void;
}

export type Pool = pg.Pool;

export interface PoolOptions {
  readonly connectionString: string;
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly log: PoolLog;
  /** Limit of one statement; none unless given. */
  readonly statementTimeoutMs?: number;
  /** A caller learns within this time that no connection can be had; 3 s unless given. */
  readonly connectTimeoutMs?: number;
}

/**
 * A pool of connections. A connection that breaks while idle is logged and replaced; statements that
 * fail reject for their callers.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl(options.connectionString),
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 3_000,
    keepAlive: true,
    ...(options.statementTimeoutMs !== undefined && {
      statement_timeout: options.statementTimeoutMs,
      // The server may be unable to say so itself.
      query_timeout: options.statementTimeoutMs + 500,
    }),
  });
  // Every connection reports its own break, in use or idle; unheard, it would end the process.
  pool.on('connect', (client) => {
    if (options.statementTimeoutMs !== undefined) breakWhenSilent(client);
    client.once('error', ({ message }: Error) => {
      // Only the message: pg hangs the whole client on an error of an idle connection.
      const about = { reason: message, pool: options.applicationName };
      options.log.warn(about, 'a database connection broke');
    });
    client.on('error', () => undefined); // what follows the first
  });
  pool.on('error', () => undefined); // the idle ones again
  return pool;
}

/**
 * A statement that got no answer in time leaves its connection unusable: whatever is sent after it waits
 * behind it. `pool.query` throws such a connection away, but not everybody who borrows one does.
 */
function breakWhenSilent(client: pg.PoolClient): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const watched = (...args: unknown[]): unknown => {
    const answer = send(...args);
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (error instanceof Error && error.message === 'Query read timeout')
          destroyConnection(client);
      });
    }
    return answer;
  };
  client.query = watched as typeof client.query;
}

/** Closes a connection without a word to the server, which may be unable to hear it. */
export function destroyConnection(client: pg.ClientBase): void {
  // `pg` keeps its socket to itself.
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } };
  connection?.stream?.destroy();
}

/** The URL without Prisma's own parameters, which PostgreSQL would refuse. Throws when it is none. */
export function databaseUrl(url: string): string {
  const parsed = parse(url);
  for (const parameter of ['schema', 'connection_limit', 'pool_timeout', 'pgbouncer']) {
    parsed.searchParams.delete(parameter);
  }
  return parsed.toString();
}

/** Where it leads, for messages: host, port and database, never the user's password. */
export function describeDatabase(url: string): string {
  const { host, pathname, searchParams } = parse(url);
  return `${searchParams.get('host') ?? host}${pathname}`;
}

function parse(url: string): URL {
  // URL's own error would carry the whole text, password included.
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol !== 'postgres:' && parsed?.protocol !== 'postgresql:') {
    throw new Error(
      'The database URL must look like postgres://user:password@host:5432/database ' +
        '(special characters of the password percent-encoded)',
    );
  }
  return parsed;
}
