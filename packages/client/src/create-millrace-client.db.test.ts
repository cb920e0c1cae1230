import { useDatabase } from '@millrace/db/testing';
import { type Permission, PERMISSIONS, ROLES } from '@millrace/jobs/contract/permission';
import { createToken } from '@millrace/jobs/manager/tokens/create-token';
import { managerContext } from '@millrace/jobs/testing/manager-context';
import { opsRouter } from '@millrace/web/ops-router';
import { trpcRoute } from '@millrace/web/trpc-route';
import { beforeAll, describe, expect, it } from 'vitest';

import { createMillraceClient, problemOf } from './create-millrace-client.ts';
import { withQueueHeldBack } from './example.ts';

const database = useDatabase();
/** As many as `/ops` has routes; a test there holds that they are the verbs. */
const OPS_ROUTES = 35;
const URL_OF_WEB = 'http://web.test';

beforeAll(() => {
  process.env['DATABASE_URL'] = database.url;
  process.env['SCHEDULER_TOKEN'] = 'a-secret-of-more-than-thirty-two-characters';
  process.env['SCHEDULER_TOKEN_PREVIOUS'] = '';
  process.env['APP_ENV'] = 'production';
  process.env['DEV_AUTH'] = '';
  process.env['LOG_LEVEL'] = 'silent';
});

const tokenWith = async (permissions: readonly Permission[]): Promise<string> => {
  const input = { label: 'client', permissions: [...permissions] };
  return (await createToken(managerContext(database, 'admin'), input)).secret;
};

/** As over the network, without one. */
const fetchRoute = (input: unknown, init?: unknown): Promise<Response> =>
  trpcRoute(new Request(input as string, init as RequestInit));

const clientOf = (token: string) =>
  createMillraceClient({ url: URL_OF_WEB, token, fetch: fetchRoute });

const refusal = (call: Promise<unknown>) => call.then(() => null, problemOf);

/** Every procedure as its path and its kind; a new one is found without being named here. */
const procedures = Object.entries(opsRouter._def.procedures as object).map(
  ([path, procedure]) =>
    [path, (procedure as { _def: { type: 'query' | 'mutation' } })._def.type] as const,
);

async function callPath(path: string, type: string, token: string, input: unknown = {}) {
  const query = type === 'query' ? `?input=${encodeURIComponent(JSON.stringify(input))}` : '';
  const response = await trpcRoute(
    new Request(`${URL_OF_WEB}/api/trpc/${path}${query}`, {
      method: type === 'query' ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-forwarded-for': path, // the limit of wrong tokens is per address
      },
      ...(type === 'mutation' && { body: JSON.stringify(input) }),
    }),
  );
  const body = (await response.json()) as { error?: { data: { problem: { code: string } } } };
  return [response.status, body.error?.data.problem.code];
}

describe('every procedure', () => {
  it('is found', () => {
    expect(procedures).toHaveLength(OPS_ROUTES);
  });

  it.each(procedures)('%s is closed without a valid token', async (path, type) => {
    expect(await callPath(path, type, 'wrong')).toEqual([401, 'unauthenticated']);
  });

  it.each(procedures)('%s is denied to who lacks its permission', async (path, type) => {
    const denied = [];
    for (const permission of Object.keys(PERMISSIONS) as Permission[]) {
      const others = (Object.keys(PERMISSIONS) as Permission[]).filter((p) => p !== permission);
      const [status] = await callPath(path, type, await tokenWith(others), { odd: true });
      if (status === 403) denied.push(permission);
    }
    expect(denied).toHaveLength(1);
  });
});

describe('createMillraceClient', () => {
  it('calls verbs with their types, several at once', async () => {
    const client = clientOf(await tokenWith(ROLES.operator));
    const [queues, definition, runs] = await Promise.all([
      client.queues.list.query(),
      client.definitions.get.query({ name: 'reindex_runs' }),
      client.runs.list.query({ filter: { state: 'failed' }, limit: 5 }),
    ]);
    expect(queues.map(({ name }) => name)).toContain('batch');
    expect(definition.effective.queue).toBe('batch');
    expect(runs).toMatchObject({ runs: [], older: null });
  });

  it('tells why a call was refused', async () => {
    const client = clientOf(await tokenWith(ROLES.viewer));
    expect(await refusal(client.queues.pause.mutate({ name: 'mail', reason: 'x' }))).toMatchObject({
      code: 'forbidden',
      detail: 'This needs the permission ops.jobs.write.',
      details: { permission: 'ops.jobs.write' },
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(await refusal(client.queues.get.query({ name: 'none' }))).toMatchObject({
      code: 'queue_not_found',
    });
    expect(await refusal(clientOf('wrong').queues.list.query())).toMatchObject({
      code: 'unauthenticated',
    });
    expect(await refusal(client.queues.list.query({ odd: 1 } as never))).toMatchObject({
      code: 'invalid_request',
    });
    expect(problemOf(new Error('something else'))).toBeNull();
  });

  it('refuses what is too large and what is no JSON', async () => {
    const token = await tokenWith(ROLES.operator);
    const post = (body: string) =>
      trpcRoute(
        new Request(`${URL_OF_WEB}/api/trpc/queues.pause`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body,
        }),
      );
    expect((await post(`{"name":"${'x'.repeat(300_000)}"}`)).status).toBe(400);
    expect((await post('{')).status).toBe(400);
    expect((await callPath('queues.nothing', 'query', token))[0]).toBe(404);
  });
});

describe('withQueueHeldBack', () => {
  it('holds the queue while the work goes on', async () => {
    const token = await tokenWith(ROLES.operator);
    const original = globalThis.fetch;
    globalThis.fetch = fetchRoute;
    try {
      const health = async () => (await clientOf(token).queues.get.query({ name: 'mail' })).health;
      const during = { health: '' };
      await withQueueHeldBack({ url: URL_OF_WEB, token, queue: 'mail' }, async () => {
        during.health = await health();
      });
      expect(during.health).toBe('paused');
      expect(await health()).not.toBe('paused');
      const denied = { url: URL_OF_WEB, token: 'wrong', queue: 'mail' };
      await expect(withQueueHeldBack(denied, async () => undefined)).rejects.toThrow(/token/);
    } finally {
      globalThis.fetch = original;
    }
  });
});
