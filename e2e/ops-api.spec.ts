import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createMillraceClient, problemOf } from '@millrace/client/create-millrace-client';
import { mustRun } from '@millrace/local/run-command';
import { REPOSITORY } from '@millrace/local/repository';

import { environment } from './support/stack.ts';
import { call } from './support/scheduler.ts';
import { expect, test } from './support/test.ts';

/** As an operator makes one: on the command line. */
async function token(databaseUrl: string, role: string, file: string): Promise<string> {
  await mustRun({
    name: 'admin:token',
    file: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      join('apps', 'worker', 'src', 'admin-token.ts'),
      '--label',
      `e2e ${role}`,
      '--role',
      role,
      '--file',
      file,
    ],
    cwd: REPOSITORY,
    env: environment(databaseUrl),
  });
  return readFileSync(file, 'utf8').trim();
}

test.describe('the operators’ API', () => {
  test('holds a queue back and lets it go, with a worker beside it', async ({ facts }, info) => {
    const secret = await token(facts.databaseUrl, 'operator', info.outputPath('token'));
    const ops = (method: string, path: string, body?: object) =>
      call(facts.url, method, path, {
        secret,
        ...(body && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      });

    const reason = `a test ${randomUUID()}`;
    expect((await ops('POST', '/ops/queues/mail/pause', { reason })).status).toBe(200);
    const queue = await ops('GET', '/ops/queues/mail');
    expect(queue.json).toMatchObject({ health: 'paused' });
    expect((await ops('POST', '/ops/queues/mail/resume', { reason })).status).toBe(200);

    const started = await ops('POST', '/ops/jobs/definitions/heartbeat/run', { reason });
    expect(started.status).toBe(202);
    const run = `/ops/jobs/runs/${String(started.json['runId'])}`;
    await expect.poll(async () => (await ops('GET', run)).json['status']).toBe('succeeded');
    const again = await ops('POST', `${run}/retry`);
    expect(again).toMatchObject({ status: 422, json: { code: 'invalid_job_state' } });
    const audit = await ops('GET', '/ops/audit?subjectKind=queue&subject=mail&limit=2');
    expect(audit.json).toMatchObject({
      events: [
        { action: 'jobs.queue.resumed', reason },
        { action: 'jobs.queue.paused', reason },
      ],
    });
  });

  test('is closed to the scheduler’s secret and to nobody’s', async ({ facts }) => {
    for (const path of ['/ops', '/ops/queues', '/ops/jobs/runs', '/ops/nothing']) {
      expect(await call(facts.url, 'GET', path)).toMatchObject({
        status: 401,
        json: { code: 'unauthenticated' },
      });
      expect((await call(facts.url, 'GET', path, { secret: null })).status).toBe(401);
    }
  });

  test('reads slots from encoded and plain paths alike', async ({ facts }, info) => {
    const secret = await token(facts.databaseUrl, 'operator', info.outputPath('token'));
    for (const slot of ['2030-01-01T00:00:00Z', '2030-01-01T00%3A00%3A00Z']) {
      const path = `/ops/jobs/definitions/heartbeat/slots/${slot}/catch-up`;
      expect(await call(facts.url, 'POST', path, { secret })).toMatchObject({
        status: 404,
        json: { code: 'slot_not_found' },
      });
    }
  });
});

test.describe('the operators’ API, typed', () => {
  test('has a client', async ({ facts: { url, databaseUrl } }, info) => {
    const client = createMillraceClient({
      url,
      token: await token(databaseUrl, 'operator', info.outputPath('token')),
    });
    const { runId } = await client.definitions.runNow.mutate({ name: 'heartbeat' });
    await expect
      .poll(async () => (await client.runs.get.query({ id: runId })).status)
      .toBe('succeeded');
    const refused = client.admin.tokens.query().then(() => null, problemOf);
    expect(await refused).toMatchObject({ code: 'forbidden' });
    const anybody = createMillraceClient({ url, token: 'nobody' });
    expect(await anybody.queues.list.query().then(() => null, problemOf)).toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('describes itself', async ({ facts }) => {
    const document = await call(facts.url, 'GET', '/ops/openapi.json', { secret: null });
    expect(document).toMatchObject({ status: 200, json: { openapi: '3.1.0' } });
  });
});
