import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { GET, POST, PUT } from './route.ts';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const KEY = 'flow:step:2030-01-31T02:00:00Z:g0';

interface Call {
  readonly body?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'GET' | 'POST' | 'PUT';

function call(method: Method, id: string, { body, query = '', headers }: Call = {}) {
  const request = new Request(`http://localhost/internal/jobs/${id}${query}`, {
    method,
    headers: { authorization: `Bearer ${SECRET}`, ...headers },
    ...(body !== undefined && { body }),
  });
  return { GET, POST, PUT }[method](request, { params: Promise.resolve({ id }) });
}

async function code(response: Promise<Response>): Promise<[number, unknown]> {
  const { status, ...rest } = await response.then(async (answer) => ({
    status: answer.status,
    body: (await answer.json()) as { code?: unknown },
  }));
  return [status, rest.body.code];
}

describe('/internal/jobs/{id}', () => {
  const database = useDatabase();

  beforeAll(() => {
    process.env['DATABASE_URL'] = database.url;
    process.env['SCHEDULER_TOKEN'] = SECRET;
    process.env['SCHEDULER_TOKEN_PREVIOUS'] = '';
    process.env['APP_ENV'] = 'production';
    process.env['DEV_AUTH'] = '';
    process.env['LOG_LEVEL'] = 'silent';
  });

  it('accepts a queued job and tells what becomes of it', async () => {
    const slot = new Date(Date.now() - 60_000).toISOString();
    const posted = await call('POST', 'reindex_runs', {
      headers: {
        'x-scheduled-for': slot,
        'x-request-id': 'request-1',
        traceparent: TRACEPARENT,
        tracestate: 'vendor=1',
      },
    });

    expect(posted.status).toBe(202);
    expect(posted.headers.get('retry-after')).toBe('2');
    expect(posted.headers.get('x-request-id')).toBe('request-1');
    expect(posted.headers.has('idempotency-replayed')).toBe(false);
    const job = (await posted.json()) as { jobId: string };
    expect(job).toEqual({
      jobId: job.jobId,
      type: 'reindex_runs',
      status: 'queued',
      done: false,
    });
    expect(posted.headers.get('location')).toBe(`/internal/jobs/${job.jobId}`);

    const got = await call('GET', job.jobId);
    expect(got.status).toBe(200);
    expect(got.headers.get('retry-after')).toBe('2');
    expect(await got.json()).toMatchObject({ ...job, attempt: 0, maxAttempts: 5 });

    const run = await database.db.run.findUniqueOrThrow({ where: { id: job.jobId } });
    expect(run.slot?.toISOString()).toBe(slot);
    expect(run.context).toEqual({
      requestId: 'request-1',
      traceparent: TRACEPARENT,
      tracestate: 'vendor=1',
      actor: { kind: 'scheduler', id: 'scheduler', label: 'scheduler', orgId: null },
    });
  });

  it.each(['00-ab-cd-01', TRACEPARENT.toUpperCase(), `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])(
    'leaves out the traceparent %s, which is none',
    async (traceparent) => {
      const posted = await call('POST', 'reindex_runs', { headers: { traceparent } });
      const { jobId } = (await posted.json()) as { jobId: string };
      const run = await database.db.run.findUniqueOrThrow({ where: { id: jobId } });
      expect(run.context).not.toHaveProperty('traceparent');
    },
  );

  it.each([
    ['a key', { 'idempotency-key': KEY }, { 'idempotency-key': `"${KEY}"` }],
    ['no key', {}, {}],
  ])('answers a repeat with %s by the same job', async (_, first, second) => {
    const posted = (await (
      await call('POST', 'reindex_runs', { headers: first })
    ).json()) as object;
    const repeated = await call('POST', 'reindex_runs', { headers: second });

    expect(repeated.status).toBe(202);
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
    expect(await repeated.json()).toEqual(posted);
    expect(await database.db.run.count()).toBe(1);
  });

  it('runs an inline job once per key', async () => {
    const headers = { 'idempotency-key': KEY };
    const first = await call('POST', 'sweep_idle_sessions', { headers });
    expect([first.status, await first.json()]).toEqual([200, { count: 0 }]);
    expect(first.headers.has('idempotency-replayed')).toBe(false);

    await database.db.session.create({
      data: { id: '01a22f44-e215-7d89-a5b9-f09bd6fb3020', expiresAt: new Date(0) },
    });
    const second = await call('POST', 'sweep_idle_sessions', { headers });
    expect([second.status, await second.json()]).toEqual([200, { count: 0 }]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');

    const third = await call('POST', 'sweep_idle_sessions');
    expect([third.status, await third.json()]).toEqual([200, { count: 1 }]);
  });

  it.each([
    ['content', { body: '{}' }, 'body_not_accepted'],
    ['a short key', { headers: { 'idempotency-key': 'short' } }, 'invalid_idempotency_key'],
    [
      'a key with spaces',
      { headers: { 'idempotency-key': 'a b c d e f' } },
      'invalid_idempotency_key',
    ],
    [
      'a slot without a zone',
      { headers: { 'x-scheduled-for': '2030-01-31T02:00:00' } },
      'invalid_slot',
    ],
    [
      'a slot far ahead',
      { headers: { 'x-scheduled-for': '2999-01-01T00:00:00Z' } },
      'invalid_slot',
    ],
    ['a slot long ago', { headers: { 'x-scheduled-for': '2001-01-01T00:00:00Z' } }, 'invalid_slot'],
  ])('refuses a trigger with %s and starts nothing', async (_, request, error) => {
    expect(await code(call('POST', 'reindex_runs', request))).toEqual([400, error]);
    expect(await database.db.run.count()).toBe(0);
  });

  it.each(['no_such_job', 'heartbeat', 'toString', '__proto__', 'REINDEX_RUNS'])(
    'does not know the job type %s',
    async (type) => {
      expect(await code(call('POST', type))).toEqual([404, 'job_definition_not_found']);
    },
  );

  it('tells no more than 404 of a run that no POST returned', async () => {
    const id = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';
    expect(await code(call('GET', id))).toEqual([404, 'job_not_found']);
    await database.pool.query(`select millrace.enqueue('test.echo', '{}')`);
    const run = await database.db.run.findFirstOrThrow();
    expect(await code(call('GET', run.id))).toEqual([404, 'job_not_found']);
  });

  it.each(['nonsense', '01A22F44-E215-7D89-A5B9-F09BD6FB3020', "'--"])(
    'refuses the job id %j',
    async (id) => {
      expect(await code(call('GET', encodeURIComponent(id)))).toEqual([400, 'invalid_job_id']);
    },
  );

  it.each(['?wait=x', '?wait=26', '?wait=-1', '?wait=1.5'])('refuses %s', async (query) => {
    const id = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';
    expect(await code(call('GET', id, { query }))).toEqual([400, 'invalid_wait']);
  });

  it('names the methods it has', async () => {
    const response = await call('PUT', 'reindex_runs');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, POST');
    expect(await response.json()).toMatchObject({ code: 'method_not_allowed' });
  });
});
