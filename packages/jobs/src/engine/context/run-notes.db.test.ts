import { useDatabase } from '@millrace/db/testing';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';

import type { HandlerContext } from '../../authoring/handler.ts';
import type { ErasedHandler } from '../../authoring/registry.ts';
import { createTestRegistry } from '../../testing/test-handlers.ts';
import { deaf, flaky, ok, slow } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createJobClient, type JobClient } from '../enqueue-run.ts';
import { createNotesWriter } from './notes-writer.ts';

const database = useDatabase();
const start = useWorkers(database);
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});

/** A registry whose every handler is this one. */
function jobsOf(handler: (ctx: HandlerContext) => Promise<unknown>) {
  const jobs = createTestRegistry();
  const erased = ((_args: unknown, ctx: HandlerContext) => handler(ctx)) as ErasedHandler;
  return { ...jobs, registry: { ...jobs.registry, loadHandler: () => Promise.resolve(erased) } };
}
const ended = (id: string) =>
  until(`run ${id} is over`, async () => {
    const run = await database.db.run.findUniqueOrThrow({ where: { id } });
    return run.finishedAt && run;
  });
const linesOf = (runId: string) =>
  database.db.runLog.findMany({
    where: { runId },
    orderBy: [{ execution: 'asc' }, { seq: 'asc' }],
  });

describe('log lines of a run', () => {
  it('are there when the run is over, and in the log with the original request', async () => {
    const { runId } = await client.enqueue(ok, {}, { context: { requestId: 'r-1' } });
    const jobs = jobsOf(async ({ log }) => {
      log.info({ sent: 2 }, 'half');
      log.debug('not kept');
      log.warn('done');
    });
    const { logged } = await start({ jobs });
    await ended(runId);
    const of = { runId, execution: 1 };
    expect(await linesOf(runId)).toMatchObject([
      { ...of, seq: 1, level: 'info', message: 'half', fields: { sent: 2 } },
      { ...of, seq: 2, level: 'warn', message: 'done', fields: null },
    ]);
    const about = { runId, definition: ok.name, attempt: 1, requestId: 'r-1' };
    expect(logged.filter((line) => line['runId'] === runId)).toMatchObject([
      { ...about, level: 30, msg: 'half', sent: 2 },
      { ...about, level: 40, msg: 'done' },
    ]);
  });

  it('are told apart by execution', async () => {
    const { runId } = await client.enqueue(flaky, { failures: 1 });
    await start({
      jobs: jobsOf(async ({ log, attempt }) => {
        log.info(`attempt ${attempt}`);
        if (attempt === 1) throw new Error('once');
      }),
    });
    await ended(runId);
    expect(await linesOf(runId)).toMatchObject([
      { execution: 1, seq: 1, message: 'attempt 1' },
      { execution: 2, seq: 1, message: 'attempt 2' },
    ]);
  });

  it('end at the cap, the last one saying so', async () => {
    const { runId } = await client.enqueue(ok, {});
    await start({
      jobs: jobsOf(async ({ log }) => {
        for (let n = 0; n < 3_000; n++) log.info(`line ${n}`);
      }),
    });
    await ended(runId);
    const lines = await linesOf(runId);
    expect(lines).toHaveLength(1_000);
    expect(lines[999]).toMatchObject({ level: 'warn', message: expect.stringMatching(/up to/) });
  });

  it('are shown while the handler runs', async () => {
    const { runId } = await client.enqueue(slow, {});
    const { promise, resolve } = Promise.withResolvers<void>();
    await start({
      jobs: jobsOf(async ({ log }) => {
        log.info('begun');
        await promise;
      }),
    });
    await until('its line is there', async () => (await linesOf(runId)).length === 1);
    resolve();
    expect(await ended(runId)).toMatchObject({ state: 'succeeded' });
  });

  it('of a handler that goes on after its end are not kept', async () => {
    const { runId } = await client.enqueue(deaf, {});
    const later = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const jobs = jobsOf(async ({ log }) => {
      log.info('in time');
      void later.promise.then(() => {
        log.info('too late');
        told.resolve();
      });
    });
    const { logged, worker } = await start({ jobs });
    await ended(runId);
    later.resolve();
    await told.promise;
    await worker.stop();
    expect((await linesOf(runId)).map(({ message }) => message)).toEqual(['in time']);
    expect(logged.map(({ msg }) => msg)).toContain('too late');
  });

  it('that cannot be stored fail no run, and are in the log all the same', async () => {
    await database.pool.query('alter table millrace.run_log rename to elsewhere');
    await database.pool.query('alter table millrace.run_progress rename to elsewhere_too');
    try {
      const { runId } = await client.enqueue(ok, {});
      const jobs = jobsOf(async ({ log, progress }) => {
        log.info('told');
        progress(1);
      });
      const { logged } = await start({ jobs });
      expect(await ended(runId)).toMatchObject({ state: 'succeeded', attempt: 1 });
      const messages = logged.map(({ msg }) => msg);
      expect(messages.filter((msg) => msg === 'told')).toHaveLength(1);
      expect(messages.filter((msg) => msg.includes('could not be stored'))).toHaveLength(1);
    } finally {
      await database.pool.query('alter table millrace.elsewhere rename to run_log');
      await database.pool.query('alter table millrace.elsewhere_too rename to run_progress');
    }
  });
});

describe('progress of a run', () => {
  it('shows the latest', async () => {
    const { runId } = await client.enqueue(ok, {});
    await start({
      jobs: jobsOf(async ({ progress }) => {
        for (let done = 1; done <= 100; done++) progress(done, 100, `item ${done}`);
      }),
    });
    await ended(runId);
    expect(await database.db.runProgress.findMany()).toMatchObject([
      { runId, execution: 1, done: 100, total: 100, note: 'item 100' },
    ]);
  });

  it('of a later execution replaces that of an earlier one, never the other way round', async () => {
    const { runId } = await client.enqueue(flaky, { failures: 1 });
    await start({
      jobs: jobsOf(async ({ progress, attempt }) => {
        progress(attempt === 1 ? 50 : 7);
        if (attempt === 1) throw new Error('once');
      }),
    });
    await ended(runId);
    const notes = createNotesWriter({ pool: database.pool, log: pino({ level: 'silent' }) });
    notes.addProgress({ runId, execution: 1, done: 99, total: null, note: 'late' });
    await notes.flush();
    expect(await database.db.runProgress.findMany()).toMatchObject([
      { runId, execution: 2, done: 7, total: null, note: null },
    ]);
  });
});

describe('a run that tells nothing', () => {
  it('writes nothing', async () => {
    const { runId } = await client.enqueue(ok, {});
    await start();
    await ended(runId);
    expect(await database.db.runLog.count()).toBe(0);
    expect(await database.db.runProgress.count()).toBe(0);
  });
});
