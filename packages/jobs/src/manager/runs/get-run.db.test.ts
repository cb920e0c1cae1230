import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { Permission } from '../../contract/permission.ts';
import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { flaky, ok, slow, throwing } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { getRun, type RunDetail } from './get-run.ts';
import { type LogPage, readRunLog } from './read-run-log.ts';

const CANARY = 'canary-in-arguments';

const database = useDatabase({ poolSize: 20 });
const start = useWorkers(database);
const viewer = () => managerContext(database, 'viewer', 'Vera');
const nobody = () => ({
  ...viewer(),
  actor: { ...viewer().actor, permissions: [] as Permission[] },
});
const client = () => createJobClient({ pool: database.pool });
const get = (id: string): Promise<RunDetail> => getRun(viewer(), { id });
const isIn = (id: string, state: string) =>
  until(`the run is ${state}`, async () => (await get(id)).status === state);

describe('getRun', () => {
  it('tells everything of a run but its arguments', async () => {
    await start();
    const { runId } = await client().enqueue(
      flaky,
      { failures: 1 },
      {
        tags: ['customer:7'],
        context: {
          requestId: 'request-1',
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          actor: { kind: 'user', id: 'u1', label: 'Grace', permissions: ['ops.admin'] } as never,
        },
      },
    );
    await isIn(runId, 'succeeded');

    const run = await get(runId);
    expect(run).toMatchObject({
      id: runId,
      definition: flaky.name,
      status: 'succeeded',
      trigger: 'app',
      tags: ['customer:7'],
      attempt: 2,
      execution: 2,
      losses: 0,
      configVersion: 0,
      argumentsErased: false,
      requestId: 'request-1',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      actor: { kind: 'user', id: 'u1', label: 'Grace', orgId: null },
      duplicates: { count: 0, more: false },
      worker: null,
      moreExecutions: false,
    });
    expect(run.executions.map(({ execution, outcome }) => [execution, outcome])).toEqual([
      [1, 'failed'],
      [2, 'succeeded'],
    ]);
    expect(run.executions[0]?.error).toMatchObject({ name: 'Error' });
    expect(run.timeline.map(({ kind }) => kind).filter((kind) => kind !== 'delayed')).toEqual([
      'waited',
      'executed',
      'waited',
      'executed',
      'ended',
    ]);
    expect(JSON.stringify(run)).not.toContain('ops.admin');
  });

  it('holds nothing that was planted in arguments, whatever becomes of the run', async () => {
    await start();
    const ids = [
      (await client().enqueue(ok, { note: CANARY })).runId,
      (await client().enqueue(throwing, { what: 'secret', secret: CANARY })).runId,
      (await client().enqueue(ok, { note: CANARY }, { delayMs: 60_000 })).runId,
    ];
    await isIn(ids[0] ?? '', 'succeeded');
    await isIn(ids[1] ?? '', 'failed');
    for (const id of ids) {
      const answers = [await get(id), await readRunLog(viewer(), { id })];
      expect(JSON.stringify(answers)).not.toContain(CANARY);
    }
  });

  it('tells where it is running', async () => {
    const { worker } = await start();
    const { runId } = await client().enqueue(slow, {});
    await isIn(runId, 'running');
    const run = await get(runId);
    expect(run.worker).toMatchObject({ id: worker.id(), pid: process.pid });
    expect(run.timeline.at(-1)).toMatchObject({ kind: 'executed', execution: 1, ms: null });
  });

  it('tells how many duplicates it has absorbed, and its progress', async () => {
    const options = { dedupe: { key: 'one' }, delayMs: 60_000 };
    const { runId } = await client().enqueue(ok, {}, options);
    for (let n = 0; n < 3; n++) await client().enqueue(ok, {}, options);
    await database.pool.query(
      'insert into millrace.run_progress (run_id, execution, done, total) values ($1, 1, 3, 10)',
      [runId],
    );
    expect(await get(runId)).toMatchObject({
      duplicates: { count: 3, more: false },
      progress: { done: 3, total: 10, note: null },
    });
  });

  it('refuses what is no run, and is denied without the permission', async () => {
    await expect(get(randomUUID())).rejects.toMatchObject({ code: 'job_not_found' });
    await expect(get('x')).rejects.toMatchObject({ code: 'invalid_request' });
    const id = randomUUID();
    await expect(getRun(nobody(), { id })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(readRunLog(nobody(), { id })).rejects.toMatchObject({ code: 'forbidden' });
    const { rows } = await database.pool.query(
      'select action, outcome, subject from millrace.audit_events order by id',
    );
    expect(rows).toEqual([
      { action: 'runs.get', outcome: 'denied', subject: id },
      { action: 'runs.log', outcome: 'denied', subject: id },
    ]);
  });
});

describe('readRunLog', () => {
  async function runWithLines(count: number): Promise<string> {
    const { runId } = await client().enqueue(ok, {}, { delayMs: 60_000 });
    await addLines(runId, 1, count);
    return runId;
  }
  const addLines = (id: string, from: number, to: number) =>
    database.pool.query(
      `insert into millrace.run_log (run_id, execution, seq, at, level, message)
       select $1, 1 + n / 4, n, now(), 'info', 'line ' || n from generate_series($2::integer, $3) n`,
      [id, from, to],
    );
  const numbers = ({ lines }: LogPage): number[] => lines.map(({ seq }) => seq);

  it('begins with the latest lines, goes back, and forward as lines come', async () => {
    const id = await runWithLines(7);
    const read = (cursor?: string | null) =>
      readRunLog(viewer(), { id, limit: 3, ...(cursor && { cursor }) });
    const last = await read();
    expect([numbers(last), last.more]).toEqual([[5, 6, 7], false]);
    const before = await read(last.older);
    expect([numbers(before), before.more]).toEqual([[2, 3, 4], true]);
    const first = await read(before.older);
    expect([numbers(first), first.older]).toEqual([[1], null]);
    expect(numbers(await read(first.newer))).toEqual([2, 3, 4]);

    const nothing = await read(last.newer);
    expect([numbers(nothing), nothing.newer]).toEqual([[], last.newer]);
    await addLines(id, 8, 11);
    const fresh = await read(last.newer);
    expect([numbers(fresh), fresh.more]).toEqual([[8, 9, 10], true]);
    expect(numbers(await read(fresh.newer))).toEqual([11]);
  });

  it('refuses a cursor of another run, and a run that is not there', async () => {
    const [one, other] = [await runWithLines(2), await runWithLines(2)];
    const { newer } = await readRunLog(viewer(), { id: one });
    await expect(readRunLog(viewer(), { id: other, cursor: newer ?? '' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
    await expect(readRunLog(viewer(), { id: randomUUID() })).rejects.toMatchObject({
      code: 'job_not_found',
    });
    await expect(readRunLog(viewer(), { id: one, limit: 501 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
