import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { parseEnv } from '../../env.ts';
import { startWebTelemetry } from '../../server/telemetry.ts';
import { GET as getJob, POST as postJob } from '../internal/jobs/[id]/route.ts';
import { GET } from './route.ts';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const TOKEN = 'a-token-of-more-than-thirty-two-characters';

const get = (authorization?: string): Promise<Response> =>
  GET(new Request('http://localhost/metrics', { headers: authorization ? { authorization } : {} }));

describe('/metrics', () => {
  const database = useDatabase();

  beforeAll(async () => {
    process.env['DATABASE_URL'] = database.url;
    process.env['SCHEDULER_TOKEN'] = SECRET;
    process.env['SCHEDULER_TOKEN_PREVIOUS'] = '';
    process.env['METRICS_TOKEN'] = TOKEN;
    process.env['APP_ENV'] = 'production';
    process.env['DEV_AUTH'] = '';
    process.env['LOG_LEVEL'] = 'silent';
    await startWebTelemetry(parseEnv(process.env));
  });

  it.each([undefined, 'Bearer wrong', `Bearer ${SECRET}`])(
    'is closed to %s',
    async (authorization) => {
      const response = await get(authorization);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.text()).not.toContain('millrace_');
    },
  );

  it('tells what was asked of /internal/jobs by route, never by path, and what waits', async () => {
    const id = '01900000-0000-7000-8000-000000000001';
    const call = (method: 'GET' | 'POST', path: string, headers: Record<string, string>) =>
      (method === 'GET' ? getJob : postJob)(
        new Request(`http://localhost/internal/jobs/${path}`, { method, headers }),
        { params: Promise.resolve({ id: path }) },
      );
    const authorization = `Bearer ${SECRET}`;
    expect((await call('POST', 'reindex_runs', { authorization })).status).toBe(202);
    expect((await call('POST', 'sweep_orphans', { authorization })).status).toBe(200);
    expect((await call('GET', id, { authorization })).status).toBe(404);
    expect((await call('GET', id, {})).status).toBe(401);

    const response = await get(`Bearer ${TOKEN}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const page = await response.text();
    const count = (method: string, status: number): string =>
      `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="/internal/jobs/{id}",http_response_status_code="${status}"} 1`;
    for (const line of [
      count('POST', 202),
      count('POST', 200),
      count('GET', 404),
      count('GET', 401),
      'millrace_queue_runs{queue="batch",state="queued"} 1',
      'millrace_runs_finished_total{definition="sweep_orphans",queue="inline",outcome="succeeded"} 1',
      'millrace_event_loop_lag_seconds{quantile="0.99"}',
    ]) {
      expect(page).toContain(line);
    }
    expect(page).not.toContain(id);
  });
});
