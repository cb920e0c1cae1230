/** What a caller hears while the database cannot answer. */
import { createServer, type Server } from 'node:net';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const JOB_ID = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';

/** The route of a process that is given this database. */
async function routeWith(databaseUrl: string) {
  delete (globalThis as { millraceWebServer?: unknown }).millraceWebServer;
  vi.stubEnv('DATABASE_URL', databaseUrl);
  vi.stubEnv('SCHEDULER_TOKEN', SECRET);
  vi.stubEnv('APP_ENV', 'production');
  vi.stubEnv('DEV_AUTH', '');
  vi.stubEnv('LOG_LEVEL', 'silent');
  const route = await import('./route.ts');
  return (method: 'GET' | 'POST', id: string): Promise<Response> =>
    route[method](
      new Request(`http://localhost/internal/jobs/${id}`, {
        method,
        headers: { authorization: `Bearer ${SECRET}` },
      }),
      { params: Promise.resolve({ id }) },
    );
}

const CALLS = [
  ['POST', 'reindex_runs'],
  ['POST', 'sweep_orphans'],
  ['GET', JOB_ID],
] as const;

async function expectUnavailable(response: Response, sinceMs: number): Promise<void> {
  expect(Date.now() - sinceMs).toBeLessThan(5_000);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await response.json()).toMatchObject({ code: 'unavailable' });
}

describe('/internal/jobs/{id} while the database is away', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.each(CALLS)('answers %s %s with 503 when nothing listens', async (method, id) => {
    const call = await routeWith('postgres://127.0.0.1:1/none');
    await expectUnavailable(await call(method, id), Date.now());
  });

  describe('and accepts connections without a word', () => {
    let silent: Server;
    let port: number;

    beforeEach(async () => {
      silent = createServer((socket) => socket.on('error', () => undefined)).unref();
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const address = silent.address();
      if (!address || typeof address === 'string') throw new Error('no port');
      ({ port } = address);
    });
    afterEach(() => {
      silent.close();
    });

    it('answers every call with 503 within 5 s', { timeout: 10_000 }, async () => {
      const call = await routeWith(`postgres://127.0.0.1:${port}/none`);
      const start = Date.now();
      const answers = await Promise.all(CALLS.map(([method, id]) => call(method, id)));
      for (const answer of answers) await expectUnavailable(answer, start);
    });
  });
});
