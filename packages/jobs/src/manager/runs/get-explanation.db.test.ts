import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { EnqueueOptions } from '../../authoring/enqueue.ts';
import type { Permission } from '../../contract/permission.ts';
import type { RunExplanation } from '../../contract/run-explanation.ts';
import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import {
  cancelling,
  fatally,
  ok,
  overdue,
  slow,
  snoozing,
  throwing,
  triggered,
} from '../../testing/test-jobs.ts';
import { createTestRegistry } from '../../testing/test-handlers.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { runNow } from '../definitions/run-now.ts';
import { updateDefinition } from '../definitions/update-definition.ts';
import { pauseQueue } from '../queues/pause-queue.ts';
import { cancelRun } from './cancel-run.ts';
import { getExplanation } from './get-explanation.ts';

const CANARY = 'canary-in-arguments';

const database = useDatabase({ poolSize: 20 });
const start = useWorkers(database);
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');
const client = () => createJobClient({ pool: database.pool });
const explain = (id: string): Promise<RunExplanation> => getExplanation(viewer(), { id });
const sql = (text: string, values: unknown[] = []) => database.pool.query(text, values);

const enqueueOk = async (options: EnqueueOptions = {}): Promise<string> =>
  (await client().enqueue(ok, { note: CANARY }, options)).runId;

/** What is told once it is `why`. */
async function becomes(id: string, why: string): Promise<RunExplanation> {
  let found: RunExplanation | undefined;
  await until(`it is ${why}`, async () => {
    found = await explain(id);
    expect(JSON.stringify(found)).not.toContain(CANARY);
    return found.why === why;
  });
  return found as RunExplanation;
}

async function addWorker(
  given: {
    queues?: string[];
    definitions?: string[];
    strands?: number;
    seenSecondsAgo?: number;
  } = {},
): Promise<string> {
  const { queues = ['default'], definitions = [ok.name], strands = 1, seenSecondsAgo = 0 } = given;
  const id = randomUUID();
  await sql(
    `insert into millrace.workers (id, host, pid, version, queues, definitions, concurrency, seen_at)
     values ($1, 'crane', 7, 'test', $2, $3, jsonb_build_object('default', $4::integer),
             clock_timestamp() - $5 * interval '1 s')`,
    [id, queues, definitions, strands, seenSecondsAgo],
  );
  return id;
}

/** A claim of a worker that does nothing more. */
async function claim(runId: string, workerId: string): Promise<void> {
  await sql(
    `update millrace.runs set state = 'running', worker_id = $2, started_at = clock_timestamp(),
            execution = execution + 1, attempt = attempt + 1
      where id = $1`,
    [runId, workerId],
  );
}

describe('getExplanation of a run that waits', () => {
  it('tells its time', async () => {
    const runAt = new Date(Date.now() + 3_600_000);
    const found = await explain(await enqueueOk({ runAt }));
    expect(found).toMatchObject({ why: 'scheduled', until: runAt });
    expect(found.text).toContain(runAt.toISOString());
  });

  it('tells who paused its queue, why and until when', async () => {
    const end = new Date(Date.now() + 60_000);
    await pauseQueue(operator(), { name: 'default', reason: 'maintenance', until: end });
    const found = await explain(await enqueueOk());
    expect(found).toMatchObject({ why: 'queue_paused', until: end });
    expect(found.text).toContain('Grace paused default');
    expect(found.text).toContain('maintenance');
  });

  it('tells that no live worker runs its queue', async () => {
    await addWorker({ queues: ['mail'] });
    await addWorker({ seenSecondsAgo: 16 });
    expect((await explain(await enqueueOk())).why).toBe('no_worker_for_queue');
  });

  it('tells that no live worker knows its definition', async () => {
    await addWorker({ definitions: ['test.slow'] });
    expect((await explain(await enqueueOk())).why).toBe('definition_unknown');
  });

  it('tells what it waits behind when every strand is busy', async () => {
    const worker = await addWorker({ strands: 1 });
    await claim(await enqueueOk(), worker);
    await enqueueOk({ priority: -1 });
    await enqueueOk({ delayMs: 60_000 });
    await enqueueOk();
    const last = await enqueueOk();
    await enqueueOk();
    const found = await explain(last);
    expect(found.why).toBe('strands_busy');
    expect(found.text).toContain('1 of 1 at a time; 2 runs go before it');
  });

  it('tells which other run of its definition it waits for', async () => {
    const jobs = createTestRegistry();
    await start({ jobs });
    const { runId: first } = await runNow(operator(), { name: triggered.coalesce.name });
    await becomes(first, 'running');
    const { runId: second } = await runNow(operator(), { name: triggered.coalesce.name });
    expect(await becomes(second, 'waits_for_other_run')).toMatchObject({ waitsFor: first });
  });

  it('tells that its ticket is gone, or held by nobody who works on it', async () => {
    database.allowViolations();
    await addWorker();
    const id = await enqueueOk();
    expect((await explain(id)).why).toBe('starting');
    await sql(
      `update gw_default._private_jobs set locked_by = 'x', locked_at = now() - interval '16 s'`,
    );
    expect((await explain(id)).why).toBe('ticket_held');
    await sql('delete from gw_default._private_jobs');
    expect((await explain(id)).why).toBe('ticket_missing');
  });

  it('tells of a retry when it is due and after what', async () => {
    const worker = await addWorker();
    const id = await enqueueOk();
    await claim(id, worker);
    await sql(
      `with waits as (
         update millrace.runs set state = 'retrying', worker_id = null, run_at = now() + interval '1 h'
          where id = $1 returning id, started_at)
       insert into millrace.executions
         (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at, error)
       select id, 1, true, 'failed', $2, 0, started_at, started_at, '{"name": "SmtpError"}' from waits`,
      [id, worker],
    );
    const found = await explain(id);
    expect(found).toMatchObject({ why: 'retry_waiting', until: expect.any(Date) });
    expect(found.text).toContain('Attempt 1 of 3 failed with SmtpError');
  });

  it('tells that its handler put it off', async () => {
    await start();
    const { runId } = await client().enqueue(snoozing, { times: 1_000 });
    await until('it has snoozed', async () => (await database.db.execution.count()) > 0);
    await pauseQueue(operator(), { name: 'default', reason: 'look' });
    await until('it waits', async () => {
      const run = await database.db.run.findUniqueOrThrow({ where: { id: runId } });
      return run.state === 'queued';
    });
    await sql(`update millrace.runs set run_at = now() + interval '1 h' where id = $1`, [runId]);
    expect((await explain(runId)).why).toBe('snoozed');
    await sql(`update millrace.runs set losses = 2 where id = $1`, [runId]);
    expect((await explain(runId)).why).toBe('waits_to_be_alone');
  });
});

describe('getExplanation of a run that is running', () => {
  it('tells where, since when, and the timeout of the configuration under which it began', async () => {
    await updateDefinition(operator(), {
      name: slow.name,
      version: 0,
      patch: { timeoutMs: 120_000 },
    });
    await start();
    const { runId } = await client().enqueue(slow, {});
    const found = await becomes(runId, 'running');
    await updateDefinition(operator(), {
      name: slow.name,
      version: 1,
      patch: { timeoutMs: 1_000 },
    });
    const after = await explain(runId);
    expect(after.text).toBe(found.text);
    expect(found.text).toContain(`${hostname()}, process ${process.pid}, attempt 1 of 2`);
    expect(found.text).toContain('with a timeout of 2 min');
    expect(Number(found.until) - Number(found.since)).toBe(120_000);
  });

  it('tells who asked for its end', async () => {
    const worker = await addWorker();
    const id = await enqueueOk();
    await claim(id, worker);
    await cancelRun(operator(), { id, reason: 'wrong customer' });
    expect((await explain(id)).text).toContain('Grace asked for its end: “wrong customer”');
  });

  it('tells that its worker is silent, and that it is gone', async () => {
    database.allowViolations();
    const worker = await addWorker({ seenSecondsAgo: 8 });
    const id = await enqueueOk();
    await claim(id, worker);
    expect(await explain(id)).toMatchObject({ why: 'worker_silent', until: expect.any(Date) });
    await sql('delete from millrace.workers');
    expect(await explain(id)).toMatchObject({ why: 'worker_silent', until: null });
  });

  it('tells of inline runs, and of one that nobody ended', async () => {
    database.allowViolations();
    const { rows } = await sql(
      `select run_id from millrace.start_inline('test.sweep', null, null, '{}', gen_random_uuid(), 60000, true)`,
    );
    const [{ run_id: id }] = rows as [{ run_id: string }];
    expect((await explain(id)).why).toBe('running_inline');
    await sql(`update millrace.runs set lease_until = now() - interval '1 s'`);
    expect((await explain(id)).why).toBe('inline_abandoned');
  });
});

describe('getExplanation of a run that is over', () => {
  it('tells each end', async () => {
    await start();
    const { runId: good } = await client().enqueue(ok, { note: CANARY });
    const { runId: bad } = await client().enqueue(throwing, { what: 'secret', secret: CANARY });
    const { runId: late } = await client().enqueue(overdue, {});
    const { runId: hopeless } = await client().enqueue(fatally, {});
    const { runId: needless } = await client().enqueue(cancelling, {});
    await becomes(good, 'succeeded');
    expect((await becomes(bad, 'attempts_exhausted')).text).toContain(
      'Attempt 1 of 1 failed with Error',
    );
    await becomes(late, 'timed_out');
    await becomes(hopeless, 'fatal');
    expect((await becomes(needless, 'cancelled')).text).toContain('nothing left to do');
    await sql('update millrace.runs set args = null where id = $1', [bad]);
    expect((await explain(bad)).would).toEqual([
      'It cannot be retried: its arguments have been erased.',
    ]);
  });

  it('tells of quarantine', async () => {
    const id = await enqueueOk();
    await sql('update millrace.runs set losses = 2 where id = $1', [id]);
    const worker = await addWorker({ seenSecondsAgo: 60 });
    await claim(id, worker);
    await sql('select millrace.reap_workers(15000)');
    const found = await explain(id);
    expect(found.why).toBe('poison');
    expect(found.text).toContain('3 workers were lost');
  });

  it('tells who cancelled it and why', async () => {
    const id = await enqueueOk({ delayMs: 60_000 });
    await cancelRun(operator(), { id, reason: 'wrong customer' });
    expect((await explain(id)).text).toContain('Grace asked for its end: “wrong customer”');
  });
});

describe('getExplanation', () => {
  it('refuses what is no run, and is denied without the permission', async () => {
    await expect(explain(randomUUID())).rejects.toMatchObject({ code: 'job_not_found' });
    await expect(explain('x')).rejects.toMatchObject({ code: 'invalid_request' });
    const nobody = { ...viewer(), actor: { ...viewer().actor, permissions: [] as Permission[] } };
    const id = randomUUID();
    await expect(getExplanation(nobody, { id })).rejects.toMatchObject({ code: 'forbidden' });
    const { rows } = await sql('select action, outcome, subject from millrace.audit_events');
    expect(rows).toEqual([{ action: 'runs.explain', outcome: 'denied', subject: id }]);
  });
});
