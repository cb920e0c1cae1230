import { randomUUID } from 'node:crypto';

import { createPool } from '@millrace/db/pool';

import { call, type Call, runToItsEnd } from './support/scheduler.ts';
import { PREVIOUS_SECRET } from './support/stack.ts';
import { expect, test } from './support/test.ts';

const JOBS = '/internal/jobs';
const UNKNOWN_ID = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';

test('a POST becomes a finished job', async ({ facts: { url } }) => {
  const slot = new Date(Date.now() - 60_000).toISOString();
  const { posted, job, location } = await runToItsEnd(url, 'reindex_runs', {
    'idempotency-key': randomUUID(),
    'x-scheduled-for': slot,
  });

  expect(posted.headers.get('retry-after')).toBe('2');
  expect(posted.json).toEqual({
    jobId: location.split('/').at(-1),
    type: 'reindex_runs',
    status: 'queued',
    done: false,
  });
  expect(job).toMatchObject({
    jobId: posted.json['jobId'],
    type: 'reindex_runs',
    status: 'succeeded',
    done: true,
    attempt: 1,
    maxAttempts: 5,
  });
  const instants = ['enqueuedAt', 'startedAt', 'finishedAt'].map((name) =>
    Date.parse(String(job[name])),
  );
  expect(instants).toEqual(instants.toSorted((a, b) => a - b));
});

test('GET waits for the end when it is asked to', async ({ facts: { url } }) => {
  const headers = { 'idempotency-key': randomUUID() };
  const { json } = await call(url, 'POST', `${JOBS}/reindex_runs`, { headers });
  const answer = await call(url, 'GET', `${JOBS}/${String(json['jobId'])}?wait=20`);
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ done: true, status: 'succeeded' });
  expect(answer.headers.has('retry-after')).toBe(false);
});

test('a repeat with its key is the same job, also when it is over', async ({ facts: { url } }) => {
  const key = `flow:step:${randomUUID()}`;
  const { posted } = await runToItsEnd(url, 'reindex_runs', { 'idempotency-key': key });
  expect(posted.headers.has('idempotency-replayed')).toBe(false);

  for (const repeatedKey of [key, `"${key}"`]) {
    const headers = { 'idempotency-key': repeatedKey };
    const repeat = await call(url, 'POST', `${JOBS}/reindex_runs`, { headers });
    expect(repeat.status).toBe(202);
    expect(repeat.headers.get('idempotency-replayed')).toBe('true');
    expect(repeat.headers.get('location')).toBe(posted.headers.get('location'));
    expect(repeat.json).toEqual({ ...posted.json, status: 'succeeded', done: true });
  }
});

test('an inline job answers its count, and a known key the stored one', async ({ facts }) => {
  const { url, databaseUrl } = facts;
  const pool = createPool({
    connectionString: databaseUrl,
    max: 1,
    applicationName: 'millrace e2e',
    log: { warn: () => undefined },
  });
  try {
    await pool.query(
      `insert into millrace.sessions (id, expires_at)
       select gen_random_uuid(), now() - interval '1 day' from generate_series(1, 3)`,
    );
  } finally {
    await pool.end();
  }
  const headers = { 'idempotency-key': randomUUID() };
  const first = await call(url, 'POST', `${JOBS}/sweep_idle_sessions`, { headers });
  expect([first.status, first.json]).toEqual([200, { count: 3 }]);
  expect(first.headers.has('idempotency-replayed')).toBe(false);

  const repeat = await call(url, 'POST', `${JOBS}/sweep_idle_sessions`, { headers });
  expect([repeat.status, repeat.json]).toEqual([200, { count: 3 }]);
  expect(repeat.headers.get('idempotency-replayed')).toBe('true');

  const next = await call(url, 'POST', `${JOBS}/sweep_idle_sessions`);
  expect([next.status, next.json]).toEqual([200, { count: 0 }]);
});

const refused: [string, string, string, Call, number, string][] = [
  ['no secret', 'POST', '/reindex_runs', { secret: null }, 401, 'unauthenticated'],
  ['no secret for an unknown job', 'POST', '/nothing', { secret: null }, 401, 'unauthenticated'],
  ['no secret for an id', 'GET', `/${UNKNOWN_ID}`, { secret: null }, 401, 'unauthenticated'],
  ['no secret for a method', 'DELETE', '/reindex_runs', { secret: null }, 401, 'unauthenticated'],
  ['a wrong secret', 'POST', '/reindex_runs', { secret: 'wrong' }, 401, 'unauthenticated'],
  ['content', 'POST', '/reindex_runs', { body: '{"limit":1}' }, 400, 'body_not_accepted'],
  ['content for an inline job', 'POST', '/sweep_orphans', { body: ' ' }, 400, 'body_not_accepted'],
  ['an unknown job', 'POST', '/nothing', {}, 404, 'job_definition_not_found'],
  ['a job of another clock', 'POST', '/heartbeat', {}, 404, 'job_definition_not_found'],
  [
    'a malformed key',
    'POST',
    '/reindex_runs',
    { headers: { 'idempotency-key': 'short' } },
    400,
    'invalid_idempotency_key',
  ],
  [
    'a malformed slot',
    'POST',
    '/reindex_runs',
    { headers: { 'x-scheduled-for': 'yesterday' } },
    400,
    'invalid_slot',
  ],
  [
    'a slot out of range',
    'POST',
    '/reindex_runs',
    { headers: { 'x-scheduled-for': '2001-01-01T00:00:00Z' } },
    400,
    'invalid_slot',
  ],
  ['an id that was never issued', 'GET', `/${UNKNOWN_ID}`, {}, 404, 'job_not_found'],
  ['a malformed id', 'GET', '/reindex_runs', {}, 400, 'invalid_job_id'],
  ['a malformed wait', 'GET', `/${UNKNOWN_ID}?wait=soon`, {}, 400, 'invalid_wait'],
  ['another method', 'PUT', '/reindex_runs', {}, 405, 'method_not_allowed'],
  ['a path of nothing', 'GET', '/a/b/c', {}, 404, 'route_not_found'],
  ['the bare path', 'POST', '', {}, 404, 'route_not_found'],
];
for (const [what, method, path, request, status, code] of refused) {
  test(`refuses ${what}: ${status} ${code}`, async ({ facts: { url } }) => {
    const requestId = `e2e.${randomUUID()}`;
    const answer = await call(url, method, JOBS + path, {
      ...request,
      headers: { 'x-request-id': requestId, ...request.headers },
    });

    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({
      type: `urn:millrace:problem:${code}`,
      title: expect.stringMatching(/./),
      detail: expect.stringMatching(/./),
      status,
      code,
      requestId,
    });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('x-request-id')).toBe(requestId);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const challenges = { null: 'Bearer', wrong: 'Bearer error="invalid_token"' };
    expect(answer.headers.get('www-authenticate')).toBe(
      status === 401 ? challenges[String(request.secret) as keyof typeof challenges] : null,
    );
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET, POST' : null);
  });
}

test('the previous secret serves as well', async ({ facts: { url } }) => {
  const answer = await call(url, 'GET', `${JOBS}/${UNKNOWN_ID}`, { secret: PREVIOUS_SECRET });
  expect(answer.status).toBe(404);
});

test('many wrong secrets from one address are limited, the right one never', async ({
  facts: { url },
}) => {
  const headers = { 'x-forwarded-for': '192.0.2.1' };
  const path = `${JOBS}/${UNKNOWN_ID}`;
  const statuses: number[] = [];
  for (let n = 0; n < 21; n++) {
    statuses.push((await call(url, 'GET', path, { headers, secret: 'wrong' })).status);
  }
  // A minute may end among them and the count begin anew: then once more.
  if (!statuses.includes(429)) {
    for (let n = 0; n < 21; n++) {
      statuses.push((await call(url, 'GET', path, { headers, secret: 'wrong' })).status);
    }
  }
  expect(statuses.at(-1)).toBe(429);
  expect((await call(url, 'GET', path, { headers })).status).toBe(404);
});

for (const path of [`${JOBS}/reindex_runs/`, `${JOBS}/sweep_orphans/`]) {
  test(`${path} is answered without a redirect`, async ({ facts: { url } }) => {
    const { status, headers } = await call(url, 'POST', path);
    expect(status).toBe(path.includes('sweep') ? 200 : 202);
    expect(headers.has('x-request-id')).toBe(true);
  });
}

test('a request id that is none is replaced', async ({ facts: { url } }) => {
  const headers = { 'x-request-id': 'two words' };
  const answer = await call(url, 'GET', `${JOBS}/${UNKNOWN_ID}`, { headers });
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
});

test('a database that is away is 503 within 5 s', async ({ stack }) => {
  const url = await stack.web('postgres://127.0.0.1:1/none', { waitFor: '/healthz' });
  const start = Date.now();
  const answer = await call(url, 'POST', `${JOBS}/reindex_runs`);
  expect(Date.now() - start).toBeLessThan(5_000);
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('5');
  expect(answer.json).toMatchObject({ code: 'unavailable' });
  expect((await call(url, 'GET', '/readyz')).status).toBe(503);
});
