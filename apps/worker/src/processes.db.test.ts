import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { invariantViolations, useDatabase } from '@millrace/db/testing';
import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import { until } from '@millrace/jobs/testing/until';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { ledgerJob } from './testing/ledger-job.ts';

const PROGRAM = fileURLToPath(new URL('./testing/ledger-worker.ts', import.meta.url));
const NOTE = 'insert into public.ledger (run_id, pid) values ($1::uuid, $2::integer)';
const RUNS = 10_000;

const database = useDatabase();

interface WorkerProcess {
  readonly pid: number;
  readonly stderr: () => string;
  readonly stdout: () => string;
  /** Sends SIGTERM; the exit code. */
  terminate(): Promise<number | null>;
}

let children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
});
beforeAll(() =>
  database.pool.query('create table public.ledger (run_id uuid not null, pid integer not null)'),
);
beforeEach(() => database.pool.query('truncate public.ledger'));

/** Starts a worker process; resolves when it has registered. */
async function startProcess(queues: string): Promise<WorkerProcess> {
  const child = spawn(
    process.execPath,
    ['--no-warnings', PROGRAM, '--database', database.url, '--queues', queues, '--ledger', NOTE],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  children.push(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await until('the worker is ready', () => {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${stderr}`);
    return stdout.includes('ready\n');
  });
  return {
    pid: child.pid!,
    stderr: () => stderr,
    stdout: () => stdout,
    async terminate() {
      child.kill('SIGTERM');
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    },
  };
}
const startBoth = () => Promise.all([startProcess('default,mail'), startProcess('batch')]);

async function enqueueRuns(): Promise<void> {
  const client = createJobClient({ pool: database.pool });
  const queues = ['default', 'batch', 'mail', 'batch'] as const;
  await Promise.all(
    Array.from({ length: RUNS }, (_, n) =>
      client.enqueue({ ...ledgerJob, queue: queues[n % 4]! }, {}),
    ),
  );
}
async function count(sql: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: string }>(`select count(*) from ${sql}`);
  return Number(rows[0]?.count);
}
const allSucceed = () =>
  until(
    'all have succeeded',
    async () => (await count(`millrace.runs where state = 'succeeded'`)) === RUNS,
    60_000,
  );

/** Each run in the ledger once, charged once, with a complete history. */
async function expectEachExecutedOnce(): Promise<void> {
  expect(await count('public.ledger')).toBe(RUNS);
  expect(await count('(select distinct run_id from public.ledger) l')).toBe(RUNS);
  expect(await count(`millrace.runs where state = 'succeeded' and attempt = 1`)).toBe(RUNS);
  expect(await count(`millrace.executions where outcome = 'succeeded' and charged`)).toBe(RUNS);
  expect(await invariantViolations(database.pool)).toEqual([]);
}
async function expectNothingLeft(): Promise<void> {
  expect(await count('millrace.tickets()')).toBe(0);
  expect(await count('millrace.workers')).toBe(0);
}
function expectQuiet(processes: readonly WorkerProcess[]): void {
  for (const { stderr, stdout } of processes) {
    expect(stderr()).toBe('');
    expect(stdout()).not.toMatch(/"level":[456]0/); // pino's warnings and errors
  }
}

describe('two worker processes', { timeout: 90_000 }, () => {
  it(`finish ${RUNS} runs, each with exactly one execution`, async () => {
    const processes = await startBoth();
    await enqueueRuns();
    await allSucceed();
    await expectEachExecutedOnce();
    expect(await count('millrace.runs where execution = 1')).toBe(RUNS);
    expect(await count('millrace.executions')).toBe(RUNS);
    expect(await count('(select distinct pid from public.ledger) l')).toBe(2);

    expect(await Promise.all(processes.map((one) => one.terminate()))).toEqual([0, 0]);
    await expectNothingLeft();
    expectQuiet(processes);
  });

  it('lose and repeat nothing when they are terminated in the middle and others take over', async () => {
    const first = await startBoth();
    await enqueueRuns();
    await until('they are in the middle', async () => (await count('public.ledger')) > RUNS / 10);
    const codes = await Promise.all(first.map((one) => one.terminate()));
    expect(codes).toEqual([0, 0]);
    const done = await count('public.ledger');
    expect(done).toBeLessThan(RUNS);
    expect(await count(`millrace.runs where state = 'succeeded'`)).toBe(done);
    expect(await count(`millrace.runs where state in ('queued', 'retrying')`)).toBe(RUNS - done);
    // Nothing has to wait for a lease to end.
    expect(await count('millrace.tickets() where locked_by is not null')).toBe(0);
    expect(await count('millrace.workers')).toBe(0);

    const second = await startBoth();
    await allSucceed();
    await expectEachExecutedOnce();
    // What had been claimed but not begun was handed back; nothing else happened.
    expect(
      await count(`millrace.executions where outcome not in ('succeeded', 'handed_back')`),
    ).toBe(0);
    expect(await count('(select distinct pid from public.ledger) l')).toBe(4);

    expect(await Promise.all(second.map((one) => one.terminate()))).toEqual([0, 0]);
    await expectNothingLeft();
    expectQuiet([...first, ...second]);
  });
});
