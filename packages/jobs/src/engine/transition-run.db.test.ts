import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { flaky, ok } from '../testing/test-jobs.ts';
import type { Ending } from './decide-ending.ts';
import type { Delivery } from './delivery.ts';
import { createJobClient } from './enqueue-run.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import { registerWorker, removeWorker } from './sql/workers.ts';
import { createRunTransitions, type RunTransitions } from './transition-run.ts';

const database = useDatabase();
const registered: string[] = [];

interface TestWorker extends RunTransitions {
  readonly id: string;
}

async function register(
  definitions: readonly string[] = [ok.name, flaky.name],
): Promise<TestWorker> {
  const id = randomUUID();
  registered.push(id);
  await database.pool.query(registerWorker, [
    id,
    'test',
    1,
    'test',
    ['default'],
    definitions,
    '{}',
  ]);
  const transitions = createRunTransitions({
    pool: database.pool,
    workerId: id,
    definitions,
    log: pino({ level: 'silent' }),
    versions: () => [[], []],
    holdsLease: () => true,
  });
  return { id, ...transitions };
}

let worker: TestWorker;
beforeEach(async () => {
  worker = await register();
});
/** What a test left running goes back, as when its workers are lost. */
afterEach(async () => {
  for (const id of registered.splice(0)) {
    await database.pool.query('select millrace.take_runs($1)', [id]);
    await database.pool.query(removeWorker, [id]);
  }
});

const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const history = (runId: string) =>
  database.db.execution.findMany({ where: { runId }, orderBy: { execution: 'asc' } });

async function enqueue(options: { maxAttempts?: number } = {}): Promise<Delivery> {
  const client = createJobClient({ pool: database.pool });
  const { runId } = await client.enqueue({ ...ok, ...options }, {});
  return deliveryOf(runId);
}
async function deliveryOf(runId: string): Promise<Delivery> {
  return { runId, ticket: String((await run(runId)).ticket) };
}
async function claim(delivery: Delivery, by = worker): Promise<ClaimedRun> {
  const claimed = await by.claim(delivery);
  if (!claimed) throw new Error('it was not claimed');
  return claimed;
}

const SUCCEEDED: Ending = {
  state: 'succeeded',
  outcome: 'succeeded',
  charged: true,
  delayMs: null,
  endCode: null,
};
const RETRY: Ending = {
  state: 'retrying',
  outcome: 'failed',
  charged: true,
  delayMs: 60_000,
  endCode: null,
};
const HAND_BACK: Ending = {
  state: 'queued',
  outcome: 'handed_back',
  charged: false,
  delayMs: 0,
  endCode: null,
};
const ended = (claimed: ClaimedRun, ending: Ending = SUCCEEDED, result: unknown = null) => ({
  claimed,
  ending,
  error: null,
  result,
});

describe('claim', () => {
  it('starts the run for this worker and raises execution and attempt', async () => {
    const delivery = await enqueue();
    const claimed = await claim(delivery);
    expect(claimed).toMatchObject({
      id: delivery.runId,
      definition: ok.name,
      ticket: delivery.ticket,
      execution: 1,
      attempt: 1,
      max_attempts: 3,
      losses: 0,
      args: {},
      context: {},
      slot: null,
      trigger: 'app',
    });
    expect(await run(delivery.runId)).toMatchObject({
      state: 'running',
      workerId: worker.id,
      execution: 1,
      attempt: 1,
      startedAt: expect.any(Date),
    });
  });

  it('gives a run to one of many workers that ask with the same ticket', async () => {
    const delivery = await enqueue();
    const others = await Promise.all(Array.from({ length: 5 }, () => register()));
    const claims = await Promise.all([worker, worker, ...others].map((one) => one.claim(delivery)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect((await run(delivery.runId)).execution).toBe(1);
  });

  it('claims many at once, each for its own caller', async () => {
    const deliveries = await Promise.all(Array.from({ length: 100 }, () => enqueue()));
    const stale = { runId: deliveries[0]!.runId, ticket: '999999' };
    const claims = await Promise.all(
      [stale, ...deliveries].map((delivery) => worker.claim(delivery)),
    );
    expect(claims.map((claimed) => claimed?.id ?? null)).toEqual([
      null,
      ...deliveries.map(({ runId }) => runId),
    ]);
  });

  it.each([
    [
      'a ticket of another run',
      async () => ({ ...(await enqueue()), ticket: (await enqueue()).ticket }),
    ],
    ['a run that is not there', async () => ({ ...(await enqueue()), runId: randomUUID() })],
    [
      'a ticket that has been replaced',
      async () => {
        const delivery = await enqueue();
        await worker.renew(delivery, 60_000);
        return delivery;
      },
    ],
    [
      'a run that was cancelled meanwhile',
      async () => {
        const delivery = await enqueue();
        await database.pool.query('select millrace.cancel_run($1)', [delivery.runId]);
        return delivery;
      },
    ],
  ])('claims nothing with %s', async (_what, prepare) => {
    const delivery = await prepare();
    expect(await worker.claim(delivery)).toBeNull();
    expect(await database.db.run.count({ where: { state: 'running' } })).toBe(0);
    expect(await database.db.execution.count()).toBe(0);
  });

  it('leaves a definition alone that this worker does not know', async () => {
    const delivery = await enqueue();
    const other = await register([flaky.name]);
    expect(await other.claim(delivery)).toBeNull();
    expect(await run(delivery.runId)).toMatchObject({ state: 'queued', execution: 0 });
    expect(await worker.claim(delivery)).not.toBeNull();
  });

  it('claims nothing for a worker that has been declared lost', async () => {
    const delivery = await enqueue();
    await database.pool.query(removeWorker, [worker.id]);
    expect(await worker.claim(delivery)).toBeNull();
    expect((await run(delivery.runId)).state).toBe('queued');
  });
});

describe('finish', () => {
  it('ends the run, writes its history and drops the ticket of the row', async () => {
    const claimed = await claim(await enqueue());
    expect(await worker.finish(ended(claimed, SUCCEEDED, { count: 3 }))).toBe(true);
    expect(await run(claimed.id)).toMatchObject({
      state: 'succeeded',
      result: { count: 3 },
      attempt: 1,
      ticket: null,
      workerId: null,
      endCode: null,
      finishedAt: expect.any(Date),
    });
    expect(await history(claimed.id)).toMatchObject([
      { execution: 1, outcome: 'succeeded', charged: true, workerId: worker.id, error: null },
    ]);
  });

  it('lets a run wait again with a new ticket for its time', async () => {
    const delivery = await enqueue();
    const claimed = await claim(delivery);
    await worker.finish({
      ...ended(claimed, RETRY),
      error: { name: 'Error', message: 'm', stack: 's' },
    });
    const waiting = await run(claimed.id);
    expect(waiting).toMatchObject({
      state: 'retrying',
      attempt: 1,
      execution: 1,
      finishedAt: null,
    });
    expect(String(waiting.ticket)).not.toBe(delivery.ticket);
    const { rows } = await database.pool.query<{ run_at: Date }>(
      'select run_at from gw_default.jobs where id = $1',
      [waiting.ticket],
    );
    expect(rows[0]?.run_at.getTime()).toBe(waiting.runAt.getTime());
    expect(await history(claimed.id)).toMatchObject([
      { outcome: 'failed', charged: true, error: { name: 'Error', message: 'm', stack: 's' } },
    ]);
  });

  it('charges nothing for a hand-back', async () => {
    const claimed = await claim(await enqueue());
    await worker.finish(ended(claimed, HAND_BACK));
    expect(await run(claimed.id)).toMatchObject({ state: 'queued', attempt: 0, execution: 1 });
    expect(await claim(await deliveryOf(claimed.id))).toMatchObject({ attempt: 1, execution: 2 });
  });

  it('cancels a run that would wait again when its cancel was asked for', async () => {
    const claimed = await claim(await enqueue());
    await database.pool.query('select millrace.cancel_run($1)', [claimed.id]);
    expect(await worker.finish(ended(claimed, RETRY))).toBe(true);
    expect(await run(claimed.id)).toMatchObject({
      state: 'cancelled',
      endCode: 'cancelled',
      ticket: null,
      finishedAt: expect.any(Date),
    });
  });

  it('writes many endings in one statement and answers each', async () => {
    const deliveries = await Promise.all(Array.from({ length: 100 }, () => enqueue()));
    const claims = await Promise.all(deliveries.map((delivery) => claim(delivery)));
    const lost = { ...claims[50]!, execution: 9 };
    const [late, ...written] = await Promise.all([
      worker.finish(ended(lost)),
      ...claims.map((claimed, n) => worker.finish(ended(claimed, SUCCEEDED, { n }))),
    ]);
    expect(late).toBe(false);
    expect(written).toEqual(Array(100).fill(true));
    const results = await Promise.all(claims.map(async ({ id }) => (await run(id)).result));
    expect(results).toEqual(Array.from({ length: 100 }, (_, n) => ({ n })));
  });

  it('says that it has written what an earlier try had written before its answer was lost', async () => {
    const claimed = await claim(await enqueue());
    expect(await worker.finish(ended(claimed))).toBe(true);
    expect(await worker.finish(ended(claimed))).toBe(true);
    expect(await history(claimed.id)).toHaveLength(1);
  });
});

describe('finish, too late', () => {
  /** Its rows as they are, to be compared. */
  const picture = async (id: string) => ({ run: await run(id), history: await history(id) });

  it.each([
    [
      'another execution',
      (claimed: ClaimedRun) => ({ ...claimed, execution: claimed.execution + 1 }),
    ],
    ['another ticket', (claimed: ClaimedRun) => ({ ...claimed, ticket: '999999' })],
    ['another run', (claimed: ClaimedRun) => ({ ...claimed, id: randomUUID() })],
  ])('changes nothing for %s', async (_what, altered) => {
    const claimed = await claim(await enqueue());
    const before = await picture(claimed.id);
    expect(await worker.finish(ended(altered(claimed)))).toBe(false);
    expect(await picture(claimed.id)).toEqual(before);
  });

  it('changes nothing for another worker', async () => {
    const claimed = await claim(await enqueue());
    const other = await register();
    const before = await picture(claimed.id);
    expect(await other.finish(ended(claimed))).toBe(false);
    expect(await picture(claimed.id)).toEqual(before);
  });

  it('changes nothing once the worker was declared lost, also while another executes the run', async () => {
    const claimed = await claim(await enqueue());
    await database.pool.query('select millrace.take_runs($1)', [worker.id]);
    const waiting = await picture(claimed.id);
    expect(waiting).toMatchObject({ run: { state: 'retrying' }, history: [{ outcome: 'lost' }] });
    expect(await worker.finish(ended(claimed, SUCCEEDED, { late: 1 }))).toBe(false);
    expect(await picture(claimed.id)).toEqual(waiting);

    const other = await register();
    const again = await claim(await deliveryOf(claimed.id), other);
    expect(again).toMatchObject({ execution: 2, attempt: 2, losses: 1 });
    expect(await worker.finish(ended(claimed))).toBe(false);
    expect(await other.finish(ended(again, SUCCEEDED, { count: 1 }))).toBe(true);
    expect(await worker.finish(ended(claimed))).toBe(false);
    expect(await picture(claimed.id)).toMatchObject({
      run: { state: 'succeeded', result: { count: 1 }, attempt: 2 },
      history: [{ outcome: 'lost' }, { outcome: 'succeeded', workerId: other.id }],
    });
  });
});

describe('renew', () => {
  it('gives a waiting run a new ticket that is later, and charges nothing', async () => {
    const delivery = await enqueue();
    const before = await run(delivery.runId);
    await worker.renew(delivery, 60_000);
    const renewed = await run(delivery.runId);
    expect(renewed).toEqual({ ...before, ticket: expect.any(BigInt) });
    const { rows } = await database.pool.query<{ later: boolean }>(
      `select run_at > now() + interval '50 seconds' as later from gw_default.jobs where id = $1`,
      [renewed.ticket],
    );
    expect(rows).toEqual([{ later: true }]);
  });

  it('does not bring a delayed run forward', async () => {
    const client = createJobClient({ pool: database.pool });
    const runAt = new Date('2040-01-01T00:00:00Z');
    const { runId } = await client.enqueue(ok, {}, { runAt });
    await worker.renew(await deliveryOf(runId), 0);
    const { rows } = await database.pool.query<{ run_at: Date }>(
      'select run_at from gw_default.jobs where id = $1',
      [(await run(runId)).ticket],
    );
    expect(rows).toEqual([{ run_at: runAt }]);
  });

  it('does nothing with a stale ticket or for a run that is running', async () => {
    const delivery = await enqueue();
    await worker.renew({ ...delivery, ticket: '999999' }, 0);
    expect(await deliveryOf(delivery.runId)).toEqual(delivery);
    await claim(delivery);
    await worker.renew(delivery, 0);
    expect(await deliveryOf(delivery.runId)).toEqual(delivery);
  });
});
