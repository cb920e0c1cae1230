/** Whatever route stands under /internal is behind the scheduler's secret, with every method. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from 'vitest';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** What a route module may export beside its methods. */
const SETTINGS = ['dynamic'];

type Route = (
  request: Request,
  context: { params: Promise<Record<string, string>> },
) => Promise<Response>;

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => /(^|\/)(route|page|layout)\.(ts|tsx|js|jsx|mjs)$/.test(file))
  .sort();

async function load(file: string): Promise<Record<string, unknown>> {
  return (await import(join(import.meta.dirname, file))) as Record<string, unknown>;
}

function call(route: Route, method: string, headers: Record<string, string>): Promise<Response> {
  const request = new Request('http://localhost/internal/jobs/heartbeat', { method, headers });
  return route(request, { params: Promise.resolve({ id: 'heartbeat' }) });
}

describe('routes under /internal', () => {
  beforeAll(() => {
    // Nothing listens there: what answers has not asked the database.
    process.env['DATABASE_URL'] = 'postgres://127.0.0.1:1/none';
    process.env['SCHEDULER_TOKEN'] = 'a-secret-of-more-than-thirty-two-characters';
    process.env['SCHEDULER_TOKEN_PREVIOUS'] = '';
    process.env['APP_ENV'] = 'production';
    process.env['DEV_AUTH'] = '';
    process.env['LOG_LEVEL'] = 'silent';
  });

  it('are route modules, among them the jobs and the rest', () => {
    expect(files).toEqual(expect.arrayContaining(['[...path]/route.ts', 'jobs/[id]/route.ts']));
    expect(files.filter((file) => !file.endsWith('route.ts'))).toEqual([]);
  });

  describe.each(files)('%s', (file) => {
    it('exports every method and nothing unknown', async () => {
      const names = Object.keys(await load(file)).filter((name) => !SETTINGS.includes(name));
      expect(names.sort()).toEqual([...METHODS].sort());
    });

    it.each(METHODS)('refuses %s without a secret', async (method) => {
      const route = (await load(file))[method] as Route;
      const response = await call(route, method, { 'x-request-id': 'request-1' });

      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(response.headers.get('x-request-id')).toBe('request-1');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      expect(await response.json()).toMatchObject({
        code: 'unauthenticated',
        status: 401,
        requestId: 'request-1',
      });
    });

    it.each(METHODS)('refuses %s with a wrong secret', async (method) => {
      const route = (await load(file))[method] as Route;
      const response = await call(route, method, {
        authorization: 'Bearer wrong',
        'x-forwarded-for': `${file} ${method}`, // the limit of wrong secrets is per address
      });

      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    });
  });
});
