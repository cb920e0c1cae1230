import { useDatabase } from '@millrace/db/testing';
import { type Permission, PERMISSIONS, ROLES } from '@millrace/jobs/contract/permission';
import { createToken } from '@millrace/jobs/manager/tokens/create-token';
import { revokeToken } from '@millrace/jobs/manager/tokens/revoke-token';
import { managerContext } from '@millrace/jobs/testing/manager-context';
import { beforeAll, describe, expect, it } from 'vitest';

import { opsRoute } from './ops-route.ts';
import { OPS_ROUTES } from './ops-routes.ts';

const ID = '01900000-0000-7000-8000-000000000001';
const FIELDS: Readonly<Record<string, string>> = {
  id: ID,
  slot: '2030-01-01T02:00:00Z',
};
const database = useDatabase();

beforeAll(() => {
  process.env['DATABASE_URL'] = database.url;
  process.env['SCHEDULER_TOKEN'] = 'a-secret-of-more-than-thirty-two-characters';
  process.env['SCHEDULER_TOKEN_PREVIOUS'] = '';
  process.env['APP_ENV'] = 'production';
  process.env['DEV_AUTH'] = '';
  process.env['LOG_LEVEL'] = 'silent';
});

const tokenWith = (permissions: readonly Permission[]) =>
  createToken(managerContext(database, 'admin', 'Ada'), {
    label: 'test',
    permissions: [...permissions],
  });
const operator = async () => (await tokenWith(ROLES.operator)).secret;

interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly headers: Headers;
}

interface Call {
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function call(method: string, address: string, options: Call = {}): Promise<Answer> {
  const { token, body, headers = {} } = options;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const request = new Request(`http://localhost${address}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: text }),
  });
  const path = new URL(request.url).pathname.split('/').slice(2);
  const response = await opsRoute(request, { params: Promise.resolve({ path }) });
  const content = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: (content ? JSON.parse(content) : {}) as Record<string, unknown>,
  };
}

/** With the fields of the path filled in. */
const address = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, field: string) => FIELDS[field] ?? 'default');

const ROUTES = OPS_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const);

describe('every route of the operators’ API', () => {
  it.each(ROUTES)('%s is closed without a token', async (_, { method, path }) => {
    const answer = await call(method, address(path));
    expect(answer).toMatchObject({ status: 401, json: { code: 'unauthenticated' } });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each(ROUTES)('%s is denied without its permission', async (_, route) => {
    const others = (Object.keys(PERMISSIONS) as Permission[]).filter(
      (each) => each !== route.permission,
    );
    const { id, secret } = await tokenWith(others);
    const answer = await call(route.method, address(route.path), { token: secret });
    expect(answer).toMatchObject({
      status: 403,
      json: { code: 'forbidden', details: { permission: route.permission } },
    });
    expect(await database.db.auditEvent.findMany({ where: { actorId: id } })).toMatchObject([
      { action: route.verb, outcome: 'denied', actorKind: 'token' },
    ]);
  });

  it.each(ROUTES)('%s answers odd input with a problem document', async (_, route) => {
    const { secret } = await tokenWith(ROLES.admin);
    const wrong: unknown[] = [];
    const odd = ['\0', "';--", '%', 'x'.repeat(5_000), '1e999', '<script>', '-1', '[]'];
    for (const text of odd) {
      const field = encodeURIComponent(text);
      const path = route.path.replaceAll(/\{\w+\}/g, field);
      const query = route.method === 'GET' || route.method === 'DELETE';
      const answer = await call(route.method, query ? `${path}?limit=${field}` : path, {
        token: secret,
        ...(!query && { body: { name: text, reason: text, patch: text, filter: text } }),
      });
      if (answer.status >= 500 || (answer.status >= 400 && !answer.json['code'])) {
        wrong.push({ text: text.slice(0, 20), status: answer.status });
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('opsRoute', () => {
  it('operates a queue, and the audit says which token did', async () => {
    const token = await operator();
    const paused = await call('POST', '/ops/queues/default/pause', {
      token,
      body: { reason: 'the disk is full' },
      headers: { 'x-request-id': 'request-1' },
    });
    expect(paused).toMatchObject({ status: 200, json: { name: 'default', paused: true } });
    expect(paused.headers.get('x-request-id')).toBe('request-1');
    expect(paused.headers.get('cache-control')).toBe('no-store');

    const queue = await call('GET', '/ops/queues/default', { token });
    expect(queue.json).toMatchObject({ name: 'default', health: 'paused' });
    const audit = await call('GET', '/ops/audit?subjectKind=queue&limit=1', { token });
    expect(audit.json).toMatchObject({
      events: [
        {
          action: 'jobs.queue.paused',
          actorKind: 'token',
          actorLabel: 'test',
          requestId: 'request-1',
        },
      ],
    });
  });

  it('changes a definition, and tells who was faster', async () => {
    const token = await operator();
    const path = '/ops/jobs/definitions/reindex_runs';
    const change = { version: 0, patch: { timeoutMs: 60_000 } };
    expect(await call('PUT', path, { token, body: change })).toMatchObject({
      status: 200,
      json: { version: 1, effective: { timeoutMs: 60_000 } },
    });
    expect(await call('PUT', path, { token, body: change })).toMatchObject({
      status: 409,
      json: { code: 'job_definition_version_conflict', details: { version: 1 } },
    });
    expect(await call('GET', `${path}/history?limit=5`, { token })).toMatchObject({
      json: { changes: [{ version: 1, actorLabel: 'test' }] },
    });
    expect(await call('DELETE', `${path}?version=1`, { token })).toMatchObject({
      status: 200,
      json: { version: 2, modified: false },
    });
  });

  it('starts, lists, explains and cancels a run', async () => {
    const token = await operator();
    const started = await call('POST', '/ops/jobs/definitions/reindex_runs/run', { token });
    expect(started.status).toBe(202);
    const { runId } = started.json;
    const listed = await call('GET', '/ops/jobs/runs?definition=reindex_runs&state=queued', {
      token,
    });
    expect(listed.json).toMatchObject({ runs: [{ id: runId }] });
    const run = `/ops/jobs/runs/${String(runId)}`;
    expect((await call('GET', `${run}/explain`, { token })).status).toBe(200);
    expect((await call('POST', `${run}/cancel`, { token })).status).toBe(202);
    expect((await call('GET', run, { token })).json).toMatchObject({ status: 'cancelled' });
    expect(await call('POST', `${run}/cancel`, { token })).toMatchObject({ status: 422 });
  });

  it('refuses a token that was revoked, and rates wrong ones', async () => {
    const { id, secret } = await tokenWith(ROLES.viewer);
    expect((await call('GET', '/ops/queues', { token: secret })).status).toBe(200);
    await revokeToken(managerContext(database, 'admin'), { id });
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const refused = await call('GET', '/ops/queues', { token: secret, headers });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    const statuses = new Set<number>();
    for (let i = 0; i < 25; i += 1) {
      statuses.add((await call('GET', '/ops/queues', { token: `wrong${i}`, headers })).status);
    }
    expect([...statuses]).toEqual([401, 429]);
  });

  it.each([
    ['no JSON', '{', {}],
    ['an array', '[]', {}],
    ['another type', '{}', { 'content-type': 'text/plain' }],
    ['too much', `{"reason":"${'x'.repeat(300_000)}"}`, {}],
    ['an unknown field', '{"reason":"a","since":1}', {}],
    ['a field of the path', '{"reason":"a","until":"yesterday"}', {}],
  ])('refuses %s', async (_, body, headers) => {
    const token = await operator();
    const answer = await call('POST', '/ops/queues/default/pause', { token, body, headers });
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_request' } });
  });

  it.each([
    ['/ops/jobs/runs?limit=1&limit=2', 400],
    ['/ops/jobs/runs?since=1', 400],
    ['/ops/jobs/runs?limit=ten', 400],
    ['/ops/jobs/runs?cursor=made-up', 400],
    ['/ops/jobs/runs?constructor=1', 400],
    ['/ops/jobs/runs?__proto__=1', 400],
    ['/ops/nothing', 404],
    ['/ops', 404],
  ])('answers %s with %i', async (path, status) => {
    expect((await call('GET', path, { token: await operator() })).status).toBe(status);
  });

  it('names the methods of a path, and answers HEAD like GET', async () => {
    const token = await operator();
    const wrong = await call('PATCH', '/ops/queues', { token });
    expect(wrong).toMatchObject({ status: 405, json: { code: 'method_not_allowed' } });
    expect(wrong.headers.get('allow')).toBe('GET');
    expect((await call('HEAD', '/ops/queues', { token })).status).toBe(200);
  });
});
