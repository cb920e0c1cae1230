import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createTestDatabase, invariantViolations } from '@millrace/db/testing';
import { defineJob } from '@millrace/jobs/authoring/define-job';
import { startWorker } from '@millrace/jobs/engine/worker';
import { createRegistry } from '@millrace/jobs/registry/create-registry';
import { until } from '@millrace/jobs/testing/until';
import { freePort } from '@millrace/local/ports';
import { webProgram, workerProgram } from '@millrace/local/programs';
import { REPOSITORY } from '@millrace/local/repository';
import { type Program, type ProgramSpec, supervise } from '@millrace/local/supervise';
import { waitUntilReady } from '@millrace/local/wait-until-ready';
import pg from 'pg';
import { pino } from 'pino';
import { expect } from 'vitest';
import { z } from 'zod';

import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A production process of an app. */
export interface AppProcess {
  /** Ends it without a word, as a machine that fails would; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again, where it was; resolves when it is ready. */
  restart(): Promise<void>;
  /** Kills it and removes what it left. */
  end(): Promise<void>;
}

export interface WebProcess extends AppProcess {
  post(jobType: string, idempotencyKey?: string): Promise<Answer>;
  get(path: string): Promise<Answer>;
}

/** What a caller of /internal/jobs learns. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly replayed: boolean;
  readonly body: {
    readonly jobId?: string;
    readonly status?: string | number;
    readonly done?: boolean;
    readonly code?: string;
  };
  readonly tookMs: number;
}

/** The queued job of the scheduler's that is shipped; it coalesces. */
export const JOB = 'reindex_runs';
const SECRET = 'the-scheduler-secret-of-the-chaos-tests';
const READY_WITHIN_MS = 60_000;

/** `next start` of apps/web over this database, as the end-to-end tests have it. */
export async function startWeb(databaseUrl: string): Promise<WebProcess> {
  if (!existsSync(join(REPOSITORY, 'apps', 'web', '.next', 'BUILD_ID'))) {
    throw new Error('apps/web is not built, and these tests build nothing: pnpm build');
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const process = await startApp((logs) => {
    const env = environment(databaseUrl);
    return webProgram({ dev: false, port, env, logs, print: () => undefined });
  });
  return {
    ...process,
    post: (jobType, key) =>
      call(`${url}/internal/jobs/${jobType}`, 'POST', key ? { 'idempotency-key': key } : {}),
    get: (path) => call(`${url}/internal/jobs/${path}`, 'GET', {}),
  };
}

/** apps/worker with the shipped jobs. */
const startWorkerApp = (databaseUrl: string, queues: string): Promise<AppProcess> =>
  startApp((logs) => {
    const env = environment(databaseUrl);
    return workerProgram(queues, { dev: false, port: 0, env, logs, print: () => undefined });
  });

async function startApp(
  specOf: (logs: string) => ProgramSpec | Promise<ProgramSpec>,
): Promise<AppProcess> {
  const logs = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  const spec = await specOf(logs);
  let program: Program | undefined;

  async function kill(): Promise<void> {
    program?.kill();
    await program?.stop();
  }
  async function end(): Promise<void> {
    await kill();
    rmSync(logs, { recursive: true, force: true });
  }
  async function restart(): Promise<void> {
    program = supervise(spec);
    await waitUntilReady([program], READY_WITHIN_MS, new AbortController().signal);
  }
  try {
    await restart();
  } catch (error) {
    await end();
    throw error;
  }
  return { kill, restart, end };
}

/** Whatever the terminal's own environment says. */
function environment(databaseUrl: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    TMPDIR: process.env['TMPDIR'],
    NODE_ENV: 'production',
    NEXT_TELEMETRY_DISABLED: '1',
    DATABASE_URL: databaseUrl,
    APP_ENV: 'local',
    SCHEDULER_TOKEN: SECRET,
  };
}

async function call(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const startedAt = performance.now();
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { authorization: `Bearer ${SECRET}`, ...headers },
  });
  const body = (await response.json()) as Answer['body'];
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    retryAfter: response.headers.get('retry-after'),
    replayed: response.headers.get('idempotency-replayed') === 'true',
    body,
    tookMs: performance.now() - startedAt,
  };
}

/** A production web server over a database of its own. */
export interface Stage {
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  /** Between `web` and the database. */
  readonly proxy: TcpProxy;
  readonly web: WebProcess;
  /** Another session's transaction, which has sent this and ends with `end`. */
  readonly leaveOpen: (statement: string) => Promise<{ end(): Promise<void> }>;
  /** Before the web server and the database go. */
  readonly atEnd: (end: () => Promise<void>) => void;
  /** The shipped worker of the job's queue. */
  readonly startWorker: () => Promise<void>;
}

/** Plays, then asserts that no invariant is violated. */
export async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
  try {
    const database = await createTestDatabase();
    ends.push(() => database.drop());
    const pool = new pg.Pool({ connectionString: database.url, max: 5 });
    ends.push(() => pool.end());
    const proxy = await startTcpProxy(database.url);
    ends.push(() => proxy.close());
    const web = await startWeb(proxy.url);
    ends.push(() => web.end());
    await play({
      pool,
      databaseUrl: database.url,
      proxy,
      web,
      leaveOpen: async (statement) => {
        const transaction = await leaveOpen(pool, statement);
        ends.push(() => transaction.end());
        return transaction;
      },
      atEnd: (end) => ends.push(end),
      async startWorker() {
        const worker = await startWorkerApp(database.url, 'batch');
        ends.push(() => worker.end());
      },
    });
    expect(await invariantViolations(pool)).toEqual([]);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

async function leaveOpen(pool: pg.Pool, statement: string): Promise<{ end(): Promise<void> }> {
  const client = await pool.connect();
  await client.query('begin');
  await client.query(statement);
  let open = true;
  return {
    async end() {
      if (!open) return;
      open = false;
      await client.query('rollback');
      client.release();
    },
  };
}

export async function runsByState({ pool }: Stage): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ state: string; count: number }>(
    `select state, count(*)::integer as count from millrace.runs where trigger = 'scheduler' group by state`,
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
export const allEnd = (at: Stage) =>
  until('every run has ended', async () => {
    const { rows } = await at.pool.query(
      `select from millrace.runs where trigger = 'scheduler' and finished_at is null`,
    );
    return rows.length === 0;
  });
/** The job that the database has for each key. */
export async function jobsByKey({ pool }: Stage): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ key: string; run_id: string }>(
    `select idempotency_key as key, run_id from millrace.scheduler_jobs
      where idempotency_key is not null`,
  );
  const byKey = new Map(rows.map(({ key, run_id }) => [key, run_id]));
  expect(byKey.size, 'a key has one job').toBe(rows.length);
  return byKey;
}

export async function comesTo({ pool }: Stage, runId: string, state: string, withinMs: number) {
  const query = 'select from millrace.runs where id = $1 and state = $2';
  const isThere = async () => (await pool.query(query, [runId, state])).rows.length === 1;
  await until(`run ${runId} is ${state}`, isThere, withinMs);
}

let made = 0;
export const newKeys = (count: number): string[] =>
  Array.from({ length: count }, () => `flow:step:${(made++).toString().padStart(8, '0')}`);
/** Posts all keys at once; null where no answer came. */
export function postAll(web: WebProcess, keys: readonly string[]): Promise<(Answer | null)[]> {
  return Promise.all(keys.map((key) => web.post(JOB, key).catch(() => null)));
}

/** Repeats the POSTs of these keys: each is answered with the job that the database has for it. */
export async function repeat(at: Stage, keys: readonly string[]): Promise<Map<string, string>> {
  const answers = await postAll(at.web, keys);
  const jobs = await jobsByKey(at);
  expect(answers.map((answer) => answer?.status)).toEqual(keys.map(() => 202));
  expect(answers.map((answer) => answer?.body.jobId)).toEqual(keys.map((key) => jobs.get(key)));
  return jobs;
}

const TOGETHER = 100;
/** So many POSTs at once, to both servers: the ids they were answered, and to how many as new. */
export async function postTogether(
  webs: readonly [WebProcess, WebProcess],
  keyOf: (n: number) => string | undefined,
): Promise<{ ids: unknown[]; fresh: number }> {
  const calls = Array.from({ length: TOGETHER }, (_, n) =>
    webs[n % 2 === 0 ? 0 : 1].post(JOB, keyOf(n)),
  );
  const answers = await Promise.all(calls);
  return {
    ids: [...new Set(answers.map(({ body }) => body.jobId))],
    fresh: answers.filter(({ replayed }) => !replayed).length,
  };
}

export const patient = defineJob({
  name: 'patient',
  description: 'Works until its signal.',
  args: z.object({}),
});
export const brief = defineJob({ name: 'brief', description: 'Ends at once.', args: z.object({}) });

/** A worker whose connections go through the proxy. */
export async function workerBehindProxy({ proxy, atEnd }: Stage): Promise<void> {
  const worker = await startWorker({
    databaseUrl: proxy.url,
    registry: createRegistry({
      definitions: [patient, brief],
      queues: { default: { concurrency: 10, prefetch: 0 } },
      handlers: {
        patient: () =>
          Promise.resolve((_args, { signal }) => sleep(600_000, undefined, { signal })),
        brief: () => Promise.resolve(() => Promise.resolve()),
      },
    }),
    queues: ['default'],
    log: pino({ level: process.env['LOG_LEVEL'] ?? 'silent' }),
    version: 'chaos',
  });
  atEnd(() => worker.stop({ timeoutMs: 0 }));
}
