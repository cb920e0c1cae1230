import { createServer, type Server } from 'node:net';

import type pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';

import { createPool, type PoolOptions } from './pool.ts';
import { useDatabase } from './testing.ts';

interface Warning {
  readonly about: object;
  readonly message: string;
}

describe('createPool', () => {
  const database = useDatabase();
  const warnings: Warning[] = [];
  let pool: pg.Pool | undefined;
  let server: Server | undefined;

  const open = (options: Partial<PoolOptions> = {}): pg.Pool => {
    pool = createPool({
      connectionString: database.url,
      max: 2,
      applicationName: 'pool test',
      log: { warn: (about, message) => warnings.push({ about, message }) },
      ...options,
    });
    return pool;
  };
  const terminate = (pid: number): Promise<unknown> =>
    database.pool.query('select pg_terminate_backend($1)', [pid]);
  const pidOf = async (client: pg.Pool | pg.PoolClient): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return rows[0]?.pid ?? 0;
  };

  afterEach(async () => {
    await pool?.end();
    server?.close();
    pool = server = undefined;
    warnings.length = 0;
  });

  it('logs a connection that breaks while idle once, without the client, and replaces it', async () => {
    const pid = await pidOf(open());
    await terminate(pid);
    await expect.poll(() => warnings.length).toBe(1);
    expect(warnings[0]).toEqual({
      about: { reason: expect.any(String), pool: 'pool test' },
      message: 'a database connection broke',
    });
    expect(await pidOf(open())).not.toBe(pid);
  });

  it('survives a connection that breaks between two statements of its user', async () => {
    const client = await open().connect();
    try {
      await terminate(await pidOf(client));
      await expect.poll(() => warnings.length).toBe(1);
      await expect(client.query('select 1')).rejects.toThrow(/terminat|not queryable/);
    } finally {
      client.release(true);
    }
  });

  it('gives an error within five seconds when the database is away', async () => {
    const away = open({ connectionString: 'postgres://u:s3cret@127.0.0.1:1/x' });
    await expect(away.query('select 1')).rejects.toThrow('ECONNREFUSED');
  });

  it('gives an error within five seconds when the server does not answer', async () => {
    server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((listening) => server?.once('listening', listening));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const started = performance.now();
    const silent = open({ connectionString: `postgres://u:s3cret@127.0.0.1:${port}/x` });
    await expect(silent.query('select 1')).rejects.toThrow(/timeout/i);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('ends a statement at its limit', async () => {
    await expect(open({ statementTimeoutMs: 100 }).query('select pg_sleep(5)')).rejects.toThrow(
      'statement timeout',
    );
  });

  it('shows its name in pg_stat_activity', async () => {
    const { rows } = await open().query<{ application_name: string }>('show application_name');
    expect(rows).toEqual([{ application_name: 'pool test' }]);
  });
});
