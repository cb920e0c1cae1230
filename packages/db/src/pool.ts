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
}

/** A caller learns within this time that no connection can be had. */
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * A pool of connections. A connection that breaks while idle is logged and replaced; statements that
 * fail reject for their callers.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl(options.connectionString),
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    ...(options.statementTimeoutMs !== undefined && {
      statement_timeout: options.statementTimeoutMs,
      // The server may be unable to say so itself.
      query_timeout: options.statementTimeoutMs + 500,
    }),
  });
  const report = (error: Error): void => {
    options.log.warn({ err: error, pool: options.applicationName }, 'a database connection broke');
  };
  pool.on('error', report);
  // While a connection is in use its errors do not reach the pool; unheard, they end the process.
  pool.on('connect', (client) => client.on('error', report));
  return pool;
}

/** The URL without Prisma's own parameters, which PostgreSQL would refuse. */
export function databaseUrl(url: string): string {
  const parsed = new URL(url);
  for (const parameter of ['schema', 'connection_limit', 'pool_timeout', 'pgbouncer']) {
    parsed.searchParams.delete(parameter);
  }
  return parsed.toString();
}
