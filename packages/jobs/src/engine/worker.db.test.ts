import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import {
  cancelling,
  deaf,
  deafAndOverdue,
  fatally,
  flaky,
  ok,
  overdue,
  parent,
  RETURNED,
  returning,
  slow,
  snoozing,
  THROWN,
  throwing,
} from '../testing/test-jobs.ts';
import { createTestRegistry } from '../testing/test-handlers.ts';
import { until } from '../testing/until.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { createJobClient, type JobClient } from './enqueue-run.ts';

const database = useDatabase();
const start = useWorkers(database);
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});

const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const history = (runId: string) =>
  database.db.execution.findMany({ where: { runId }, orderBy: { execution: 'asc' } });
const inState = (id: string, state: string) =>
  until(`run ${id} is ${state}`, async () => {
    const found = await run(id);
    return found.state === state && found;
  });
/** The run when it is over, with its history. */
async function finished(id: string) {
  const ended = await until(`run ${id} is over`, async () => {
    const found = await run(id);
    return found.finishedAt && found;
  });
  return { run: ended, history: await history(id) };
}
const noTickets = () =>
  until('no ticket is left', async () => {
    const { rows } = await database.pool.query('select from gw_default.jobs');
    return rows.length === 0;
  });

describe('a worker', () => {
  it('executes a run once and records its result and history', async () => {
    const { runId } = await client.enqueue(ok, { note: 'hello' }, { context: { requestId: 'r' } });
    const { worker, calls } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({
      state: 'succeeded',
      result: { noteLength: 5 },
      attempt: 1,
      execution: 1,
      endCode: null,
      workerId: null,
    });
    expect(executions).toMatchObject([
      { execution: 1, charged: true, outcome: 'succeeded', workerId: worker.id(), error: null },
    ]);
    expect(executions[0]!.finishedAt.getTime()).toBeGreaterThanOrEqual(
      executions[0]!.startedAt.getTime(),
    );
    expect(calls).toMatchObject([{ runId, attempt: 1, args: { note: 'hello' }, slot: null }]);
    await noTickets();
  });

  it('executes many runs, each once', async () => {
    const { calls } = await start();
    const runs = await Promise.all(Array.from({ length: 200 }, () => client.enqueue(ok, {})));
    await until(
      'all are over',
      async () => (await database.db.run.count({ where: { state: 'succeeded' } })) === 200,
    );
    expect(calls.map((call) => call.runId).toSorted()).toEqual(
      runs.map(({ runId }) => runId).toSorted(),
    );
    expect(await database.db.execution.count()).toBe(200);
    await noTickets();
  });

  it('executes what waits before its time only at its time', async () => {
    const { runId } = await client.enqueue(ok, {}, { delayMs: 300 });
    await start();
    const { run: ended } = await finished(runId);
    expect(ended.startedAt!.getTime()).toBeGreaterThanOrEqual(ended.runAt.getTime());
  });

  it('lets a handler enqueue further runs', async () => {
    const { runId } = await client.enqueue(parent, {}, { context: { requestId: 'r-7' } });
    const { calls } = await start();
    await finished(runId);
    const child = await until('the child has run', () =>
      calls.find(({ definition }) => definition === ok.name),
    );
    expect((await finished(child.runId)).run).toMatchObject({
      args: { note: 'from the parent' },
      context: { requestId: 'r-7' },
      state: 'succeeded',
    });
  });

  it('executes no more than the concurrency of its queue at a time', async () => {
    const jobs = createTestRegistry({ queues: { default: { concurrency: 2, prefetch: 3 } } });
    const runs = await client.enqueueMany(
      Array.from({ length: 6 }, () => ({ definition: slow, args: {} })),
    );
    const { worker, calls } = await start({ jobs });
    for (let begun = 2; begun <= 6; begun++) {
      await until(`${begun} have begun`, () => calls.length === begun);
      expect(worker.running()).toBeLessThanOrEqual(2);
      calls[begun - 2]!.release();
    }
    jobs.releaseAll();
    await Promise.all(runs.map(({ runId }) => finished(runId)));
  });

  it('executes the queues that it was given only', async () => {
    const other = await client.enqueue({ ...ok, queue: 'batch' }, {});
    const mine = await client.enqueue({ ...ok, queue: 'mail' }, {});
    const { calls } = await start({ queues: ['default', 'mail'] });
    await finished(mine.runId);
    expect(calls.map(({ runId }) => runId)).toEqual([mine.runId]);
    expect((await run(other.runId)).state).toBe('queued');
  });

  it('refuses a queue that the code does not declare', async () => {
    await expect(start({ queues: ['default', 'nowhere'] })).rejects.toThrow(
      'unknown queue nowhere: the code declares default, batch, mail',
    );
    expect(await database.db.worker.count()).toBe(0);
  });

  it('signs on with what it is and signs off when it stops', async () => {
    const { worker } = await start({ queues: ['default', 'mail'], version: '1.2.3' });
    const row = await until('its pools are known', async () => {
      const found = await database.db.worker.findUnique({ where: { id: worker.id() } });
      return found?.pools.length === 2 && found;
    });
    expect(row).toMatchObject({
      pid: process.pid,
      version: '1.2.3',
      queues: ['default', 'mail'],
      stoppingAt: null,
    });
    expect(row.definitions).toContain(ok.name);
    await worker.stop();
    expect(await database.db.worker.count()).toBe(0);
  });
});

describe('a failing attempt', () => {
  it('is repeated until the run succeeds, with every attempt in its history', async () => {
    const { runId } = await client.enqueue(flaky, { failures: 2 });
    const { calls, logged } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({
      state: 'succeeded',
      attempt: 3,
      execution: 3,
      result: { attempt: 3 },
    });
    expect(executions).toMatchObject([
      {
        execution: 1,
        charged: true,
        outcome: 'failed',
        error: { name: 'Error', message: 'attempt 1 fails' },
      },
      { execution: 2, charged: true, outcome: 'failed', error: { message: 'attempt 2 fails' } },
      { execution: 3, charged: true, outcome: 'succeeded', error: null },
    ]);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(logged.filter(({ msg }) => msg === 'attempt failed')).toMatchObject([
      { level: 40, runId, attempt: 1, maxAttempts: 3 },
      { level: 40, runId, attempt: 2 },
    ]);
  });

  it('fails the run when it was the last', async () => {
    const { runId } = await client.enqueue(flaky, { failures: 9 });
    const { logged } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({
      state: 'failed',
      endCode: 'attempts_exhausted',
      attempt: 3,
      result: null,
    });
    expect(executions.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed']);
    expect(logged.filter(({ msg }) => msg === 'attempt failed').map(({ level }) => level)).toEqual([
      40, 40, 50,
    ]);
    await noTickets();
  });

  it.each(THROWN)('fails the run with a stored description when it throws: %s', async (what) => {
    const { runId } = await client.enqueue(throwing, { what, secret: 'ann@example.org' });
    await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'failed', endCode: 'attempts_exhausted', attempt: 1 });
    expect(executions).toMatchObject([
      {
        outcome: 'failed',
        error: { name: 'Error', message: expect.any(String), stack: expect.any(String) },
      },
    ]);
    expect(JSON.stringify(executions)).not.toContain('ann@example.org');
  });

  it('fails for good when the stored arguments no longer fit', async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `select millrace.enqueue($1, '{"failures": "three"}') as id`,
      [flaky.name],
    );
    const { calls } = await start();
    const { run: ended, history: executions } = await finished(rows[0]!.id);
    expect(ended).toMatchObject({ state: 'failed', endCode: 'fatal', attempt: 1, maxAttempts: 3 });
    expect(executions).toMatchObject([
      {
        error: {
          name: 'FatalOutcome',
          message: expect.stringContaining('do not satisfy the schema'),
        },
      },
    ]);
    expect(calls).toEqual([]);
  });
});

describe('an outcome', () => {
  it.each(['returned', 'thrown'] as const)('fails the run at once: fatal, %s', async (how) => {
    const { runId } = await client.enqueue(fatally, { how });
    await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'failed', endCode: 'fatal', attempt: 1, execution: 1 });
    expect(executions).toMatchObject([
      { outcome: 'failed', error: { name: 'FatalOutcome', message: 'the account is gone' } },
    ]);
  });

  it.each(['returned', 'thrown'] as const)('cancels the run: cancel, %s', async (how) => {
    const { runId } = await client.enqueue(cancelling, { how });
    await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'cancelled', endCode: 'cancelled', attempt: 1 });
    expect(executions).toMatchObject([
      { outcome: 'cancelled', error: { message: 'nothing is left to do' } },
    ]);
  });

  it('lets the run wait uncharged: snooze', async () => {
    const { runId } = await client.enqueue(snoozing, { times: 2 });
    const { calls } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'succeeded', attempt: 1, maxAttempts: 1, execution: 3 });
    expect(executions).toMatchObject([
      { outcome: 'snoozed', charged: false },
      { outcome: 'snoozed', charged: false },
      { outcome: 'succeeded', charged: true },
    ]);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  });
});

describe('a result', () => {
  it.each(RETURNED)('never keeps the run from succeeding: %s', async (what) => {
    const { runId } = await client.enqueue(returning, { what });
    const { logged } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended.state).toBe('succeeded');
    expect(executions).toMatchObject([{ outcome: 'succeeded', charged: true, error: null }]);
    const kept = ['map', 'error'].includes(what);
    expect(ended.result).toEqual(kept ? {} : null);
    expect(logged.filter(({ msg }) => msg.startsWith('the result is dropped'))).toHaveLength(
      kept ? 0 : 1,
    );
  });

  it('is stored without what PostgreSQL cannot store and without the arguments', async () => {
    const jobs = createTestRegistry();
    const registry = {
      ...jobs.registry,
      loadHandler: () =>
        Promise.resolve(() =>
          Promise.resolve({
            text: 'a\0b\uD83D',
            'key\0': 1,
            echo: 'mail to ann@example.org',
            count: 2,
          }),
        ),
    };
    const { runId } = await client.enqueue(ok, { note: 'ann@example.org' });
    await start({ jobs: { ...jobs, registry } });
    expect((await finished(runId)).run).toMatchObject({
      state: 'succeeded',
      result: { text: 'a\uFFFDb\uFFFD', 'key\uFFFD': 1, echo: 'mail to [redacted]', count: 2 },
    });
  });
});

describe('a timeout', () => {
  it('aborts the handler, retries, and fails the run when it was the last attempt', async () => {
    const { runId } = await client.enqueue(overdue, {});
    const { calls, logged } = await start();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({
      state: 'failed',
      endCode: 'timed_out',
      attempt: 2,
      execution: 2,
    });
    expect(executions).toMatchObject([
      {
        outcome: 'timed_out',
        charged: true,
        error: { name: 'RunAborted', message: 'aborted: timeout' },
      },
      { outcome: 'timed_out', charged: true },
    ]);
    expect(calls.map((call) => call.aborted())).toEqual(['timeout', 'timeout']);
    expect(
      logged.filter(({ msg }) => msg === 'attempt timed_out').map(({ level }) => level),
    ).toEqual([40, 50]);
  });

  it('ends the run of a handler that ignores its signal, whose strand stays taken', async () => {
    const jobs = createTestRegistry({ queues: { default: { concurrency: 1, prefetch: 0 } } });
    const first = await client.enqueue(deafAndOverdue, {});
    const { calls } = await start({ jobs });
    const { run: ended } = await finished(first.runId);
    expect(ended).toMatchObject({ state: 'failed', endCode: 'timed_out' });

    const second = await client.enqueue(ok, {});
    const { ticket } = await run(second.runId);
    await until(
      'it goes back for another worker',
      async () => (await run(second.runId)).ticket !== ticket,
    );
    expect(await run(second.runId)).toMatchObject({ state: 'queued', attempt: 0 });
    expect(calls.map(({ runId }) => runId)).toEqual([first.runId]);
    calls[0]!.release();
    expect((await finished(second.runId)).run.state).toBe('succeeded');
    expect((await finished(first.runId)).run).toEqual(ended);
  });
});

describe('a cancel', () => {
  it('aborts a running handler and ends the run as cancelled', async () => {
    const { runId } = await client.enqueue(slow, {});
    const { calls } = await start();
    await until('it runs', () => calls.length === 1);
    const { rows } = await database.pool.query('select millrace.cancel_run($1) as found', [runId]);
    expect(rows).toEqual([{ found: 'requested' }]);
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'cancelled', endCode: 'cancelled', attempt: 1 });
    expect(executions).toMatchObject([{ outcome: 'cancelled', charged: true }]);
    expect(calls[0]!.aborted()).toBe('cancelled');
  });
});

describe('a run that has lost two workers', () => {
  it('executes alone, though a handler that ignores its signal keeps a strand others wait for', async () => {
    const jobs = createTestRegistry({
      queues: { default: { concurrency: 1, prefetch: 1 }, mail: { concurrency: 1, prefetch: 0 } },
    });
    const stuck = await client.enqueue(deafAndOverdue, {});
    const { calls } = await start({ jobs, queues: ['default', 'mail'] });
    await until('the strand is taken', () => calls.length === 1);
    const waiting = await client.enqueue(ok, {});
    await inState(waiting.runId, 'running');
    const { runId } = await client.enqueue({ ...slow, queue: 'mail' }, {}, { delayMs: 100 });
    await database.pool.query('update millrace.runs set losses = 2 where id = $1', [runId]);

    await until('it executes', () => calls.find((call) => call.runId === runId));
    expect(calls.map((call) => call.runId)).toEqual([stuck.runId, runId]);
    expect(await history(waiting.runId)).toMatchObject([
      { outcome: 'handed_back', charged: false },
    ]);
    jobs.releaseAll();
    expect((await finished(runId)).run).toMatchObject({ state: 'succeeded', attempt: 1 });
    expect((await finished(waiting.runId)).run).toMatchObject({ state: 'succeeded', attempt: 1 });
  });
});

describe('a delivery that is not valid', () => {
  const addStrayTicket = (payload: object) =>
    database.pool.query(`select gw_default.add_job('run', $1::json)`, [JSON.stringify(payload)]);

  it('is dropped without an execution when its ticket is stale', async () => {
    const { runId } = await client.enqueue(ok, {}, { delayMs: 600_000 });
    await addStrayTicket({ runId });
    await addStrayTicket({ runId: '00000000-0000-7000-8000-000000000000' });
    const { calls } = await start();
    const mine = await client.enqueue(ok, {});
    await finished(mine.runId);
    await until('only the valid ticket is left', async () => {
      const { rows } = await database.pool.query<{ id: string }>('select id from gw_default.jobs');
      return rows.length === 1 && rows[0]?.id === String((await run(runId)).ticket);
    });
    expect(await run(runId)).toMatchObject({ state: 'queued', execution: 0 });
    expect(calls.map((call) => call.runId)).toEqual([mine.runId]);
  });

  it('goes to a worker that knows the definition when this one does not', async () => {
    const jobs = createTestRegistry({ only: [ok] });
    const { runId } = await client.enqueue(flaky, { failures: 0 });
    const before = await run(runId);
    const ignorant = await start({ jobs });
    const renewed = await until('it has a new ticket', async () => {
      const found = await run(runId);
      return found.ticket !== before.ticket && found;
    });
    expect(renewed).toMatchObject({ state: 'queued', execution: 0, attempt: 0 });
    await ignorant.worker.stop();

    const knowing = await start();
    expect((await finished(runId)).history).toMatchObject([
      { execution: 1, outcome: 'succeeded', workerId: knowing.worker.id() },
    ]);
    expect(ignorant.calls).toEqual([]);
  });
});

describe('stop', () => {
  it('waits for a running handler', async () => {
    const { runId } = await client.enqueue(slow, {});
    const { worker, calls } = await start();
    const call = await until('it runs', () => calls[0]);
    const stopped = worker.stop({ timeoutMs: 10_000 });
    await until(
      'the stop is announced',
      async () => (await database.db.worker.findFirst())?.stoppingAt,
    );
    call.release();
    await stopped;
    expect(call.aborted()).toBeNull();
    expect(await run(runId)).toMatchObject({
      state: 'succeeded',
      attempt: 1,
      result: { released: 1 },
    });
  });

  it('starts nothing more', async () => {
    const { worker, calls } = await start();
    await worker.stop();
    const { runId } = await client.enqueue(ok, {});
    const next = await start();
    await finished(runId);
    expect(calls).toEqual([]);
    expect(next.calls).toHaveLength(1);
  });

  it('hands back, uncharged, what does not end in time, and another worker completes it', async () => {
    const { runId } = await client.enqueue(slow, {});
    const { worker, calls } = await start();
    await until('it runs', () => calls.length === 1);
    await worker.stop({ timeoutMs: 0 });
    expect(calls[0]!.aborted()).toBe('shutdown');
    expect(await run(runId)).toMatchObject({
      state: 'queued',
      attempt: 0,
      execution: 1,
      workerId: null,
    });

    const next = await start();
    (await until('it runs again', () => next.calls[0])).release();
    const { run: ended, history: executions } = await finished(runId);
    expect(ended).toMatchObject({ state: 'succeeded', attempt: 1, execution: 2 });
    expect(executions).toMatchObject([
      { outcome: 'handed_back', charged: false, workerId: worker.id() },
      { outcome: 'succeeded', charged: true, workerId: next.worker.id() },
    ]);
  });

  it('hands back a handler that ignores its signal, whose late end changes nothing', async () => {
    const { runId } = await client.enqueue(deaf, {});
    const { worker, calls } = await start();
    const call = await until('it runs', () => calls[0]);
    await worker.stop({ timeoutMs: 0 });
    const handedBack = await run(runId);
    expect(handedBack).toMatchObject({ state: 'queued', attempt: 0, execution: 1 });
    call.release();

    const next = await start();
    (await until('it runs again', () => next.calls[0])).release();
    expect((await finished(runId)).history).toMatchObject([
      { outcome: 'handed_back', charged: false },
      { outcome: 'succeeded', charged: true, workerId: next.worker.id() },
    ]);
  });

  it('hands back, uncharged, what was claimed or delivered but not started', async () => {
    const jobs = createTestRegistry({ queues: { default: { concurrency: 1, prefetch: 5 } } });
    const running = await client.enqueue(deaf, {});
    const { worker, calls } = await start({ jobs });
    await until('it runs', () => calls.length === 1);
    const waiting = await client.enqueueMany(
      Array.from({ length: 4 }, () => ({ definition: ok, args: {} })),
    );
    await until('one is claimed and the rest delivered', async () => {
      const { rows } = await database.pool.query(
        'select from gw_default.jobs where locked_at is null',
      );
      return (
        rows.length === 0 && (await database.db.run.count({ where: { state: 'running' } })) === 2
      );
    });
    await worker.stop({ timeoutMs: 0 });

    const runs = [running, ...waiting].map(({ runId }) => runId);
    expect(await Promise.all(runs.map(run))).toMatchObject(
      Array(5).fill({ state: 'queued', attempt: 0 }),
    );
    const executions = await database.db.execution.findMany();
    expect(executions.every(({ outcome, charged }) => outcome === 'handed_back' && !charged)).toBe(
      true,
    );
    jobs.releaseAll();

    const next = await start();
    next.releaseAll();
    const ended = await Promise.all(runs.map(finished));
    expect(ended.map((one) => one.run)).toMatchObject(
      Array(5).fill({ state: 'succeeded', attempt: 1 }),
    );
  });
});
