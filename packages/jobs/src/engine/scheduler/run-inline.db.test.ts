import { useDatabase } from '@millrace/db/testing';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';

import { defineInlineJob } from '../../authoring/define-inline-job.ts';
import type { InlineHandler, InlineHandlerContext, InlineResult } from '../../authoring/handler.ts';
import { until } from '../../testing/until.ts';
import { getSchedulerJob } from './get-scheduler-job.ts';
import { createRunInline } from './run-inline.ts';
import type { SchedulerTrigger } from './trigger-job.ts';

const database = useDatabase();
const definition = defineInlineJob({ name: 'test.sweep', description: 'Sweeps.', limit: 50 });
const hasty = { ...definition, timeoutMs: 50 };

/** The verb as one web process has it, with a handler of the test's own. */
function inline(handler: InlineHandler) {
  const lines: string[] = [];
  const run = createRunInline({
    pool: database.pool,
    db: database.db,
    log: pino({ level: 'info' }, { write: (line) => lines.push(line) }),
    loadHandler: () => Promise.resolve(handler),
  });
  return { run, lines };
}
const by = (
  idempotencyKey: string | null,
  more: Partial<SchedulerTrigger> = {},
): SchedulerTrigger => ({
  idempotencyKey,
  slot: null,
  context: {},
  ...more,
});
const counting = (result: InlineResult) => inline(() => Promise.resolve(result));
const failing = () => inline(() => Promise.reject(new Error('the disk is full')));
const runs = () => database.db.run.findMany({ orderBy: { id: 'asc' } });
const executions = () => database.db.execution.findMany();
const jobFailed = { code: 'job_failed', message: 'The job failed; its run history tells why.' };

/** A handler that a test ends by hand, and how often it was called. */
function held() {
  const calls: InlineHandlerContext[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<InlineResult>();
  const handler: InlineHandler = (ctx) => {
    calls.push(ctx);
    return promise;
  };
  return { ...inline(handler), calls, resolve, reject };
}

describe('what an inline job tells', () => {
  const actor = { kind: 'scheduler', id: 'scheduler', label: 'scheduler', orgId: null } as const;

  it('is kept with its run, and logged with the request', async () => {
    const { run, lines } = inline(({ log }) => {
      log.info({ swept: 3 }, 'swept');
      return Promise.resolve({ count: 3, more: false });
    });
    await run(definition, by(null, { context: { requestId: 'r-1', actor } }));
    const [recorded] = await runs();
    expect(recorded!.context).toEqual({ requestId: 'r-1', actor });
    expect(await database.db.runLog.findMany()).toMatchObject([
      { runId: recorded!.id, execution: 1, level: 'info', message: 'swept', fields: { swept: 3 } },
    ]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { runId: recorded!.id, definition: definition.name, requestId: 'r-1', msg: 'swept' },
    ]);
  });

  it('is one line when it fails', async () => {
    const { run, lines } = failing();
    await expect(
      run(definition, by(null, { context: { requestId: 'r-1' } })),
    ).rejects.toMatchObject(jobFailed);
    const about = { definition: definition.name, attempt: 1, requestId: 'r-1' };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { ...about, level: 50, error: { message: 'the disk is full' } },
    ]);
  });
});

describe('run an inline job', () => {
  it('answers with the count and records the run', async () => {
    const { run } = counting({ count: 3, more: false });
    const slot = new Date('2030-01-01T00:00:00Z');
    expect(await run(definition, by(null, { slot, context: { requestId: 'r' } }))).toEqual({
      answer: { count: 3 },
      replayed: false,
    });
    const [recorded] = await runs();
    expect(recorded).toMatchObject({
      definition: 'test.sweep',
      queue: null,
      ticket: null,
      state: 'succeeded',
      trigger: 'scheduler',
      attempt: 1,
      maxAttempts: 1,
      slot,
      context: { requestId: 'r' },
      result: { count: 3, more: false },
      leaseUntil: null,
      workerId: null,
    });
    expect(await executions()).toMatchObject([
      { runId: recorded!.id, outcome: 'succeeded', charged: true },
    ]);
    expect(await getSchedulerJob(database.pool, recorded!.id)).toMatchObject({
      status: 'succeeded',
      done: true,
      result: { count: 3 },
    });
  });

  it('gives the handler its limit, slot and signal', async () => {
    const slot = new Date('2030-01-01T00:00:00Z');
    const { run, calls, resolve } = held();
    resolve({ count: 0, more: false });
    await run(definition, by(null, { slot }));
    expect(calls).toMatchObject([{ runId: (await runs())[0]!.id, limit: 50, slot }]);
    expect(calls[0]!.signal.aborted).toBe(false);
  });

  it('says that there is more', async () => {
    const { run } = counting({ count: 50, more: true });
    expect(await run(definition, by(null))).toEqual({
      answer: { count: 50, more: true },
      replayed: false,
    });
  });

  it('runs again at every call without a key', async () => {
    const { run } = counting({ count: 1, more: false });
    await run(definition, by(null));
    await run(definition, by(null));
    expect(await runs()).toHaveLength(2);
  });
});

describe('run an inline job with a key', () => {
  it('answers the stored count after a success, without running', async () => {
    await counting({ count: 7, more: true }).run(definition, by('key-00001'));
    const { run, calls } = held();
    for (let again = 0; again < 2; again++) {
      expect(await run(definition, by('key-00001'))).toEqual({
        answer: { count: 7, more: true },
        replayed: true,
      });
    }
    expect(calls).toEqual([]);
    expect(await runs()).toHaveLength(1);
  });

  it('answers it also after the run is gone', async () => {
    await counting({ count: 7, more: false }).run(definition, by('key-00001'));
    await database.db.run.deleteMany();
    await database.db.execution.deleteMany();
    expect(await held().run(definition, by('key-00001'))).toEqual({
      answer: { count: 7 },
      replayed: true,
    });
  });

  it('leaves the key unused after a failure: the next call runs', async () => {
    await expect(failing().run(definition, by('key-00001'))).rejects.toMatchObject(jobFailed);
    expect(await counting({ count: 2, more: false }).run(definition, by('key-00001'))).toEqual({
      answer: { count: 2 },
      replayed: false,
    });
    expect((await runs()).map(({ state }) => state)).toEqual(['failed', 'succeeded']);
  });

  it('runs for another key and for another definition', async () => {
    const { run } = counting({ count: 1, more: false });
    await run(definition, by('key-00001'));
    expect((await run(definition, by('key-00002'))).replayed).toBe(false);
    expect((await run({ ...definition, name: 'test.other' }, by('key-00001'))).replayed).toBe(
      false,
    );
  });
});

describe('run an inline job that fails', () => {
  it('answers job_failed, without the error, and records it', async () => {
    const { run, lines } = failing();
    await expect(run(definition, by(null))).rejects.toMatchObject(jobFailed);
    expect(await runs()).toMatchObject([
      { state: 'failed', endCode: 'attempts_exhausted', result: null },
    ]);
    expect(await executions()).toMatchObject([
      { outcome: 'failed', error: { message: 'the disk is full' } },
    ]);
    expect(lines.join('')).toContain('the disk is full');
  });

  it.each([
    ['a negative count', { count: -1, more: false }],
    ['half a count', { count: 0.5, more: false }],
    ['more than its limit', { count: 51, more: true }],
    ['a text', { count: '3', more: false }],
    ['nothing', undefined],
    ['null', null],
  ])('fails when the handler reports %s', async (_what, result) => {
    await expect(
      counting(result as unknown as InlineResult).run(definition, by(null)),
    ).rejects.toMatchObject(jobFailed);
    expect(await runs()).toMatchObject([{ state: 'failed' }]);
  });

  it.each([
    ['a text', 'junk', {}],
    ['nothing', undefined, {}],
    ['true', true, { more: true }],
  ])('reads a "more" that is %s', async (_what, more, answered) => {
    const { run } = counting({ count: 1, more } as unknown as InlineResult);
    expect(await run(definition, by(null))).toEqual({
      answer: { count: 1, ...answered },
      replayed: false,
    });
    expect(await runs()).toMatchObject([{ state: 'succeeded' }]);
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a NUL', new Error('a\0b')],
  ])('fails when the handler throws %s', async (_what, thrown) => {
    const { run } = inline(() => {
      throw thrown as Error;
    });
    await expect(run(definition, by(null))).rejects.toMatchObject(jobFailed);
    expect(await executions()).toMatchObject([{ outcome: 'failed' }]);
  });

  it('times out and aborts the handler', async () => {
    let reason: unknown;
    const { run } = inline(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            reject(new Error('interrupted'));
          });
        }),
    );
    await expect(run(hasty, by('key-00001'))).rejects.toMatchObject(jobFailed);
    expect(reason).toMatchObject({ reason: 'timeout' });
    expect(await runs()).toMatchObject([{ state: 'failed', endCode: 'timed_out' }]);
    expect(await executions()).toMatchObject([
      { outcome: 'timed_out', error: { message: 'aborted: timeout' } },
    ]);
  });

  it('times out when the handler ignores its signal', async () => {
    const { run, resolve } = held();
    await expect(run(hasty, by(null))).rejects.toMatchObject(jobFailed);
    expect(await runs()).toMatchObject([{ state: 'failed', endCode: 'timed_out' }]);
    resolve({ count: 1, more: false });
  });
});

/** Resolves when that many calls have been told that another one is executing the job. */
function callsToJoin(count: number): Promise<unknown> {
  const query = vi.spyOn(database.pool, 'query');
  const joined = (): number =>
    query.mock.settledResults.filter(
      ({ value }) =>
        (value as { rows?: { verdict?: string }[] } | undefined)?.rows?.[0]?.verdict === 'running',
    ).length;
  return until(`${count} calls join`, () => joined() === count).finally(() => query.mockRestore());
}

describe('run an inline job while it is running', () => {
  it('joins the call and answers as it does', async () => {
    const first = held();
    const answers = [first.run(definition, by('key-00001'))];
    await until('it runs', () => first.calls.length === 1);
    const joined = callsToJoin(2);
    answers.push(first.run(definition, by('key-00001')), held().run(definition, by(null)));
    await joined;
    first.resolve({ count: 4, more: true });
    expect(await Promise.all(answers)).toEqual([
      { answer: { count: 4, more: true }, replayed: false },
      { answer: { count: 4, more: true }, replayed: true },
      { answer: { count: 4, more: true }, replayed: true },
    ]);
    expect(first.calls).toHaveLength(1);
    expect(await runs()).toHaveLength(1);
  });

  it('fails as the call it joined', async () => {
    const first = held();
    const calling = first.run(definition, by(null));
    await until('it runs', () => first.calls.length === 1);
    const joined = callsToJoin(1);
    const joining = held().run(definition, by('key-00001'));
    await joined;
    first.reject(new Error('no'));
    await expect(calling).rejects.toMatchObject(jobFailed);
    await expect(joining).rejects.toMatchObject(jobFailed);
    expect(
      (await counting({ count: 1, more: false }).run(definition, by('key-00001'))).replayed,
    ).toBe(false);
  });

  it('does not end between the two looks of a start that is under way', async () => {
    const { run, calls, resolve } = held();
    const answer = run(definition, by('key-00001'));
    await until('it runs', () => calls.length === 1);
    const starting = await database.pool.connect();
    try {
      await starting.query('begin');
      await starting.query(
        `select pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || $1, 0))`,
        [definition.name],
      );
      resolve({ count: 1, more: false });
      await until('its end waits', async () => {
        const { rows } = await database.pool.query(
          `select from pg_locks where locktype = 'advisory' and not granted
              and database = (select oid from pg_database where datname = current_database())`,
        );
        return rows.length === 1;
      });
    } finally {
      await starting.query('rollback');
      starting.release();
    }
    expect(await answer).toMatchObject({ answer: { count: 1 } });
  });

  it('executes once for 50 concurrent calls of 10 processes', async () => {
    const gate = held();
    const processes = Array.from({ length: 10 }, () => {
      const { run } = inline((ctx) => {
        gate.calls.push(ctx);
        return until('the test lets it end', () => released && { count: 1, more: false });
      });
      return run;
    });
    let released = false;
    const answers = Promise.all(
      Array.from({ length: 50 }, (_, n) => processes[n % 10]!(definition, by('key-00001'))),
    );
    await until('it runs', () => gate.calls.length > 0);
    released = true;
    const all = await answers;
    expect(gate.calls).toHaveLength(1);
    expect(all.map(({ answer }) => answer)).toEqual(Array(50).fill({ count: 1 }));
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
  });

  it('runs beside another definition', async () => {
    const first = held();
    const calling = first.run(definition, by(null));
    await until('it runs', () => first.calls.length === 1);
    const other = counting({ count: 1, more: false });
    expect(await other.run({ ...definition, name: 'test.other' }, by(null))).toMatchObject({
      replayed: false,
    });
    first.resolve({ count: 0, more: false });
    await calling;
  });
});

describe('run an inline job whose process died', () => {
  /** Leaves a run running whose lease is over; ends the late handler afterwards. */
  async function die() {
    const dead = held();
    const calling = dead.run(definition, by('key-00001'));
    await until('it runs', () => dead.calls.length === 1);
    await database.pool.query(`update millrace.runs set lease_until = now() - interval '1 second'`);
    return { ...dead, calling };
  }

  it('closes its run as lost and runs, and the late end changes nothing', async () => {
    const dead = await die();
    expect(await counting({ count: 5, more: false }).run(definition, by('key-00001'))).toEqual({
      answer: { count: 5 },
      replayed: false,
    });
    const [lost, second] = await runs();
    expect([lost, second]).toMatchObject([
      { state: 'failed', endCode: 'attempts_exhausted', leaseUntil: null },
      { state: 'succeeded' },
    ]);
    expect(await executions()).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ runId: lost!.id, outcome: 'lost' }),
        expect.objectContaining({ runId: second!.id, outcome: 'succeeded' }),
      ]),
    );
    dead.resolve({ count: 9, more: false });
    await expect(dead.calling).rejects.toMatchObject(jobFailed);
    expect(await runs()).toEqual([lost, second]);
    expect((await held().run(definition, by('key-00001'))).answer).toEqual({ count: 5 });
  });

  it('is joined while its lease lasts', async () => {
    const first = held();
    const calling = first.run(definition, by(null));
    await until('it runs', () => first.calls.length === 1);
    const [running] = await runs();
    expect(running!.leaseUntil!.getTime() - running!.startedAt!.getTime()).toBeGreaterThanOrEqual(
      14_900,
    );
    first.resolve({ count: 0, more: false });
    await calling;
  });
});
