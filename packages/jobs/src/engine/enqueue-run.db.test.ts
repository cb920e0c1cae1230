import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import { createJobClient, type JobClient } from './enqueue-run.ts';

const mail = defineJob({
  name: 'test.mail',
  description: 'Sends a mail.',
  args: z.object({ to: z.string() }),
  newArgs: () => ({ to: 'nobody' }),
  queue: 'mail',
  priority: 5,
  maxAttempts: 4,
});
const plain = defineJob({ name: 'test.plain', description: 'Does nothing.', args: z.object({}) });
const nowhere = defineJob({
  name: 'test.nowhere',
  description: 'Names a queue that is not there.',
  args: z.object({}),
  queue: 'nowhere',
});

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const database = useDatabase();
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});

/** Every ticket of a queue: which run it delivers, and when. */
async function tickets(queue = 'default') {
  const { rows } = await database.pool.query<{
    id: string;
    run_id: string;
    run_at: Date;
    priority: number;
  }>(
    `select j.id, p.payload ->> 'runId' as run_id, j.run_at, j.priority
       from gw_${queue}.jobs j join gw_${queue}._private_jobs p on p.id = j.id order by j.id`,
  );
  return rows;
}
const run = (id: string) => database.db.run.findUniqueOrThrow({ where: { id } });
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'accepted',
    (error: { code?: string }) => error.code,
  );

describe('enqueue', () => {
  it('adds a waiting run with what the definition says, and one ticket that delivers it', async () => {
    const { runId, duplicate } = await client.enqueue(mail, { to: 'ann@example.org' });
    expect(runId).toMatch(UUID_V7);
    expect(duplicate).toBe(false);
    const added = await run(runId);
    expect(added).toMatchObject({
      definition: 'test.mail',
      queue: 'mail',
      state: 'queued',
      trigger: 'app',
      priority: 5,
      maxAttempts: 4,
      attempt: 0,
      execution: 0,
      args: { to: 'ann@example.org' },
      context: {},
      tags: [],
      slot: null,
      dedupeKey: null,
      exclusive: false,
      workerId: null,
      finishedAt: null,
    });
    expect(await tickets('mail')).toEqual([
      { id: String(added.ticket), run_id: runId, run_at: added.runAt, priority: 5 },
    ]);
    expect(await tickets('default')).toEqual([]);
  });

  it('orders ids by time', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push((await client.enqueue(plain, {})).runId);
      const { rows } = await database.pool.query<{ later: boolean }>(
        'select pg_sleep(0.002) is not null as later',
      );
      expect(rows[0]?.later).toBe(true);
    }
    expect(ids).toEqual(ids.toSorted());
  });

  it('takes options over the definition', async () => {
    const { runId } = await client.enqueue(
      mail,
      { to: 'x' },
      {
        priority: -100,
        tags: ['a', 'ä 😀'],
        context: { requestId: 'r', traceparent: TRACEPARENT },
      },
    );
    expect(await run(runId)).toMatchObject({
      priority: -100,
      tags: ['a', 'ä 😀'],
      context: { requestId: 'r', traceparent: TRACEPARENT },
    });
    expect(await tickets('mail')).toMatchObject([{ priority: -100 }]);
  });

  it('waits for the given instant', async () => {
    const runAt = new Date('2040-01-01T00:00:00.123Z');
    const { runId } = await client.enqueue(plain, {}, { runAt });
    expect((await run(runId)).runAt).toEqual(runAt);
    expect(await tickets()).toMatchObject([{ run_id: runId, run_at: runAt }]);
  });

  it('waits for the given delay, by the clock of the database', async () => {
    const { runId } = await client.enqueue(plain, {}, { delayMs: 3_600_000 });
    const { rows } = await database.pool.query<{ ahead: boolean }>(
      `select run_at - enqueued_at between interval '1 hour' and interval '1 hour 10 seconds' as ahead
         from millrace.runs where id = $1`,
      [runId],
    );
    expect(rows).toEqual([{ ahead: true }]);
  });

  it('refuses arguments that do not fit, before the database hears of them', async () => {
    const wrong = { to: 7 } as unknown as { to: string };
    expect(await code(client.enqueue(mail, wrong))).toBe('invalid_job_args');
    expect(await database.db.run.count()).toBe(0);
  });

  it('refuses a queue that is not there and leaves nothing', async () => {
    expect(await code(client.enqueue(nowhere, {}))).toBe('MR404');
    expect(await database.db.run.count()).toBe(0);
  });

  it('groups 500 concurrent callers and gives each its own run', async () => {
    const before = await statements();
    const runs = await Promise.all(
      Array.from({ length: 500 }, (_, n) => client.enqueue(mail, { to: `user ${n}` })),
    );
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(500);
    const stored = new Map(
      (await database.db.run.findMany({ select: { id: true, args: true } })).map((row) => [
        row.id,
        row.args,
      ]),
    );
    expect(runs.map(({ runId }) => stored.get(runId))).toEqual(
      Array.from({ length: 500 }, (_, n) => ({ to: `user ${n}` })),
    );
    expect(new Set((await tickets('mail')).map((ticket) => ticket.run_id))).toEqual(
      new Set(stored.keys()),
    );
    expect((await statements()) - before).toBeLessThanOrEqual(3);
  });

  it('rejects only the caller at fault when its run shares a statement with others', async () => {
    const results = await Promise.allSettled([
      client.enqueue(plain, {}),
      client.enqueue(nowhere, {}),
      client.enqueue(mail, { to: 'x' }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await database.db.run.count()).toBe(2);
  });

  /** Transactions that have added runs so far. */
  async function statements(): Promise<number> {
    const { rows } = await database.pool.query<{ count: string }>(
      'select count(distinct xmin::text) as count from millrace.runs',
    );
    return Number(rows[0]?.count);
  }
});

describe('enqueueMany', () => {
  it('adds runs of several queues and answers in order', async () => {
    const runs = await client.enqueueMany([
      { definition: mail, args: { to: 'one' } },
      { definition: plain, args: {} },
      { definition: mail, args: { to: 'two' }, options: { priority: 1 } },
    ]);
    const stored = await Promise.all(runs.map(({ runId }) => run(runId)));
    expect(stored).toMatchObject([
      { queue: 'mail', args: { to: 'one' }, priority: 5 },
      { queue: 'default', args: {} },
      { queue: 'mail', args: { to: 'two' }, priority: 1 },
    ]);
    expect(await tickets('mail')).toHaveLength(2);
    expect(await tickets('default')).toHaveLength(1);
  });

  it('adds nothing for nothing', async () => {
    expect(await client.enqueueMany([])).toEqual([]);
    expect(await client.in(database.pool).enqueueMany([])).toEqual([]);
  });

  it('adds none when one is at fault', async () => {
    const items = [
      { definition: plain, args: {} },
      { definition: nowhere, args: {} },
    ];
    expect(await code(client.enqueueMany(items))).toBe('MR404');
    expect(await database.db.run.count()).toBe(0);
    expect(await tickets()).toEqual([]);
  });
});

describe('enqueue in a transaction of pg', () => {
  async function transaction(
    end: 'commit' | 'rollback',
    work: (jobs: Pick<JobClient, 'enqueue' | 'enqueueMany'>) => Promise<unknown>,
  ) {
    const connection = await database.pool.connect();
    try {
      await connection.query('begin');
      await work(client.in(connection));
      await connection.query(end);
    } finally {
      connection.release();
    }
  }

  it('leaves nothing when it rolls back', async () => {
    await transaction('rollback', (jobs) => jobs.enqueue(plain, {}));
    expect(await database.db.run.count()).toBe(0);
    expect(await tickets()).toEqual([]);
  });

  it('leaves one run with one ticket when it commits', async () => {
    await transaction('commit', (jobs) => jobs.enqueue(plain, {}));
    const [added] = await database.db.run.findMany();
    expect(await tickets()).toMatchObject([{ id: String(added?.ticket), run_id: added?.id }]);
    expect(await database.db.run.count()).toBe(1);
  });

  it('is not seen before it commits', async () => {
    await transaction('commit', async (jobs) => {
      await jobs.enqueueMany([
        { definition: plain, args: {} },
        { definition: mail, args: { to: 'x' } },
      ]);
      expect(await database.db.run.count()).toBe(0);
      expect(await tickets()).toEqual([]);
    });
    expect(await database.db.run.count()).toBe(2);
  });

  it('finds its own run by the dedupe key', async () => {
    await transaction('commit', async (jobs) => {
      const first = await jobs.enqueue(plain, {}, { dedupe: { key: 'k' } });
      const second = await jobs.enqueue(plain, {}, { dedupe: { key: 'k' } });
      expect(second).toEqual({ runId: first.runId, duplicate: true });
    });
    expect(await tickets()).toHaveLength(1);
  });
});

describe('enqueue in a transaction of Prisma', () => {
  const abandoned = new Error('abandoned');

  it('leaves nothing when it rolls back', async () => {
    const work = database.db.$transaction(async (tx) => {
      await client.in(tx).enqueue(plain, {});
      await client.in(tx).enqueueMany([{ definition: mail, args: { to: 'x' } }]);
      throw abandoned;
    });
    await expect(work).rejects.toBe(abandoned);
    expect(await database.db.run.count()).toBe(0);
    expect(await tickets()).toEqual([]);
    expect(await tickets('mail')).toEqual([]);
  });

  it('leaves one run with one ticket when it commits, beside what else was written', async () => {
    const id = randomUUID();
    const { runId } = await database.db.$transaction(async (tx) => {
      await tx.session.create({ data: { id, expiresAt: new Date('2040-01-01T00:00:00Z') } });
      return client.in(tx).enqueue(mail, { to: 'x' }, { delayMs: 10, dedupe: { key: 'k' } });
    });
    expect(await database.db.session.count({ where: { id } })).toBe(1);
    expect(await tickets('mail')).toMatchObject([{ run_id: runId }]);
    expect(await database.db.run.count()).toBe(1);
  });

  it('answers a duplicate as such', async () => {
    const first = await client.enqueue(plain, {}, { dedupe: { key: 'k' } });
    const second = await database.db.$transaction((tx) =>
      client.in(tx).enqueue(plain, {}, { dedupe: { key: 'k' } }),
    );
    expect(second).toEqual({ runId: first.runId, duplicate: true });
  });
});

describe('enqueue with a dedupe key', () => {
  const keyed = { dedupe: { key: 'the key' } };

  it('adds one run for 50 concurrent callers of one process', async () => {
    const runs = await Promise.all(
      Array.from({ length: 50 }, () => client.enqueue(plain, {}, keyed)),
    );
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    expect(runs.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(await tickets()).toHaveLength(1);
  });

  it('adds one run for 50 callers on connections of their own', async () => {
    const runs = await Promise.all(
      Array.from({ length: 50 }, () => client.in(database.pool).enqueue(plain, {}, keyed)),
    );
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    expect(runs.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(await database.db.run.count()).toBe(1);
    expect(await tickets()).toHaveLength(1);
  });

  it('waits for the transaction that has just used the key, and adds its own if that rolls back', async () => {
    const connection = await database.pool.connect();
    await connection.query('begin');
    const first = await client.in(connection).enqueue(plain, {}, keyed);
    const second = client.enqueue(plain, {}, keyed);
    await connection.query('rollback');
    connection.release();
    expect(await second).toMatchObject({ duplicate: false });
    expect((await second).runId).not.toBe(first.runId);
    expect(await tickets()).toHaveLength(1);
  });

  it('keeps the run that is there, unchanged', async () => {
    const first = await client.enqueue(mail, { to: 'first' }, keyed);
    const second = await client.enqueue(
      mail,
      { to: 'second' },
      { ...keyed, priority: 9, delayMs: 60_000 },
    );
    expect(second).toEqual({ runId: first.runId, duplicate: true });
    expect(await run(first.runId)).toMatchObject({ args: { to: 'first' }, priority: 5 });
  });

  it('adds a new run once the former has finished', async () => {
    const first = await client.enqueue(plain, {}, keyed);
    await database.pool.query('select millrace.cancel_run($1)', [first.runId]);
    const second = await client.enqueue(plain, {}, keyed);
    expect(second.duplicate).toBe(false);
    expect(second.runId).not.toBe(first.runId);
    expect(await database.db.run.count({ where: { dedupeKey: 'the key' } })).toBe(2);
  });

  it('tells definitions and keys apart', async () => {
    const runs = await Promise.all([
      client.enqueue(plain, {}, keyed),
      client.enqueue(mail, { to: 'x' }, keyed),
      client.enqueue(plain, {}, { dedupe: { key: 'another key' } }),
      client.enqueue(plain, {}),
      client.enqueue(plain, {}),
    ]);
    expect(runs.map(({ duplicate }) => duplicate)).toEqual(Array(5).fill(false));
  });

  it('finds the key within one batch', async () => {
    const runs = await client.enqueueMany([
      { definition: plain, args: {}, options: keyed },
      { definition: mail, args: { to: 'x' }, options: keyed },
      { definition: plain, args: {}, options: keyed },
      { definition: plain, args: {} },
      { definition: plain, args: {}, options: keyed },
    ]);
    expect(runs.map(({ duplicate }) => duplicate)).toEqual([false, false, true, false, true]);
    expect(runs[2]?.runId).toBe(runs[0]?.runId);
    expect(runs[4]?.runId).toBe(runs[0]?.runId);
    expect(await tickets()).toHaveLength(2);
    expect(await tickets('mail')).toHaveLength(1);
  });

  it('finds the key across batches that name their keys in opposite orders', async () => {
    const keys = Array.from({ length: 20 }, (_, n) => `key ${n}`);
    const batch = (order: readonly string[]) =>
      createJobClient({ pool: database.pool }).enqueueMany(
        order.map((key) => ({ definition: plain, args: {}, options: { dedupe: { key } } })),
      );
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => batch(n % 2 === 0 ? keys : keys.toReversed())),
    );
    expect(await database.db.run.count()).toBe(20);
    expect(await tickets()).toHaveLength(20);
  });
});

describe('millrace.enqueue in plain SQL', () => {
  it('adds a run with one statement', async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `select millrace.enqueue('test.plain', '{"a": 1}') as id`,
    );
    expect(await run(rows[0]!.id)).toMatchObject({
      definition: 'test.plain',
      args: { a: 1 },
      queue: 'default',
      maxAttempts: 3,
      state: 'queued',
      trigger: 'app',
    });
    expect(await tickets()).toMatchObject([{ run_id: rows[0]?.id }]);
  });

  it('takes queue, attempts and options', async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `select millrace.enqueue('test.plain', '{}', 'batch', 7,
         '{"priority": 3, "tags": ["t"], "dedupeKey": "k", "delayMs": 60000}') as id`,
    );
    const added = await run(rows[0]!.id);
    expect(added).toMatchObject({
      queue: 'batch',
      maxAttempts: 7,
      priority: 3,
      tags: ['t'],
      dedupeKey: 'k',
    });
    expect(added.runAt.getTime() - added.enqueuedAt.getTime()).toBeGreaterThanOrEqual(60_000);
  });

  it('adds a run per row of a query, in its transaction', async () => {
    await database.pool.query(
      `select millrace.enqueue('test.plain', jsonb_build_object('n', n)) from generate_series(1, 20) n`,
    );
    expect(await database.db.run.count()).toBe(20);
    const failing = database.pool.query(
      `select millrace.enqueue('test.plain', '{}'), 1 / (n - 3) from generate_series(1, 5) n`,
    );
    expect(await code(failing)).toBe('22012');
    expect(await database.db.run.count()).toBe(20);
  });

  it.each([
    ['an unknown queue', `select millrace.enqueue('test.plain', '{}', 'nowhere')`, 'MR404'],
    ['a name that is none', `select millrace.enqueue('Not-A-Name', '{}')`, 'MR422'],
    ['no attempts', `select millrace.enqueue('test.plain', '{}', 'default', 0)`, 'MR422'],
    ['a null definition', `select millrace.enqueue(null, '{}')`, 'MR422'],
    [
      'an endless time',
      `select millrace.enqueue('test.plain', '{}', 'default', 1, '{"runAt": "-infinity"}')`,
      'MR422',
    ],
    ['nothing', `select * from millrace.enqueue_runs(null)`, 'MR422'],
  ])('refuses %s', async (_what, sql, sqlstate) => {
    expect(await code(database.pool.query(sql))).toBe(sqlstate);
    expect(await tickets()).toEqual([]);
  });
});
