import { randomUUID } from 'node:crypto';

import { migrate } from '@millrace/db/migrate';
import {
  indexStep,
  openGeneration,
  swapGeneration,
} from '@millrace/jobs/definitions/reindex-runs/sql/search-index';
import { countRuns } from '@millrace/jobs/manager/runs/count-runs';
import { listRuns, type RunPage } from '@millrace/jobs/manager/runs/list-runs';
import { generateRuns } from '@millrace/jobs/manager/runs/sql/generate-runs';
import type { ManagerContext } from '@millrace/jobs/manager/verb';
import pg from 'pg';

/** The database's time for one kind of page, in milliseconds per page. */
interface PageTimes {
  readonly filter: string;
  readonly page: string;
  readonly ms: readonly number[];
}

const LIVE = 20_000;
const LIMIT = 50;
const SPACING_MS = 2_000;
const REINDEX_STEP = 20_000;

type Filter = NonNullable<NonNullable<Parameters<typeof listRuns>[1]>['filter']>;

/** The listed combinations, and two more that the budget of a walk bounds. */
const FILTERS = {
  none: {},
  definition: { definition: 'demo.bill' },
  'state=failed': { state: 'failed' },
  'definition, state=failed': { definition: 'demo.bill', state: 'failed' },
  queue: { queue: 'mail' },
  trigger: { trigger: 'manual' },
  tag: { tag: 'customer:15' },
  'definition, state=running': { definition: 'demo.sync', state: 'running' },
  'definition, state=queued': { definition: 'demo.bill', state: 'queued' },
  'state=running': { state: 'running' },
  'queue=default': { queue: 'default' },
  'definition, trigger': { definition: 'demo.audit', trigger: 'manual' },
  'search in errors, common': { search: 'answer' },
  'search in errors, rare': { search: 'host 77' },
} as const satisfies Record<string, Filter>;

/**
 * Times pages of `runs.list` over `runs` generated runs, in a database of its own on the server of `pool`. A
 * page in the middle or deep in the list is reached by a time filter, the next three by cursor; the time is
 * that of the verb with its transaction, on the machine of the database.
 */
export async function measureRunsList(
  server: pg.Pool,
  url: string,
  { runs, rounds }: { readonly runs: number; readonly rounds: number },
): Promise<PageTimes[]> {
  await server.query('create database runs_list');
  const own = new URL(url);
  own.pathname = '/runs_list';
  const log = { info: () => undefined, warn: console.warn, error: console.error };
  await migrate({ databaseUrl: own.href, queues: ['default', 'batch', 'mail'], log });
  const pool = new pg.Pool({ connectionString: own.href, max: 4 });
  pool.on('error', () => undefined);
  try {
    await generate(pool, runs);
    await reindex(pool);
    return await measure({ ...READER, pool }, runs, rounds);
  } finally {
    await pool.end();
  }
}

async function measure(
  context: ManagerContext,
  runs: number,
  rounds: number,
): Promise<PageTimes[]> {
  const found: PageTimes[] = [];
  for (const [name, asked] of Object.entries(FILTERS)) {
    for (const [page, share] of DEPTHS) {
      const to = new Date(Date.now() - share * runs * SPACING_MS).toISOString();
      const filter = share === 0 ? asked : { ...asked, to };
      await readPages(context, filter, []); // plans, and what the cache of a busy console holds
      const ms: number[] = [];
      for (let round = 0; round < rounds; round++) await readPages(context, filter, ms);
      found.push({ filter: name, page, ms });
    }
  }
  const ms: number[] = [];
  for (let round = 0; round < rounds; round++) await timed(ms, () => countRuns(context, {}));
  found.push({ filter: 'counts per state', page: 'first', ms });
  return found;
}

/** Four pages. */
async function readPages(context: ManagerContext, filter: Filter, ms: number[]): Promise<void> {
  let cursor: string | null = null;
  for (let step = 0; step < 4 && (step === 0 || cursor); step++) {
    const at = cursor === null ? {} : { cursor };
    const page: RunPage = await timed(ms, () => listRuns(context, { filter, limit: LIMIT, ...at }));
    cursor = page.older;
  }
}

const DEPTHS = [
  ['first', 0],
  ['middle', 0.5],
  ['deep', 0.98],
] as const;

const READER = {
  registry: { definitions: new Map(), queues: new Map(), find: () => undefined },
  actor: {
    kind: 'system',
    id: 'bench',
    label: 'bench',
    orgId: null,
    permissions: ['ops.jobs.read'],
  },
  requestId: 'bench',
} as const satisfies Omit<ManagerContext, 'pool'>;

async function generate(pool: pg.Pool, runs: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(
      "begin; set local session_replication_role = 'replica'; set local synchronous_commit = off",
    );
    await client.query(generateRuns, [runs, LIVE]);
    await client.query('commit');
    await client.query('vacuum (analyze) millrace.runs');
    await client.query('vacuum (analyze) millrace.executions');
  } finally {
    client.release();
  }
}

/** What the job reindex_runs does. */
async function reindex(pool: pg.Pool): Promise<void> {
  const run = randomUUID();
  await pool.query(openGeneration, [run]);
  let indexed = 1;
  while (indexed > 0) {
    const { rows } = await pool.query<{ indexed: number }>(indexStep, [run, REINDEX_STEP]);
    indexed = rows[0]?.indexed ?? 0;
  }
  await pool.query(swapGeneration, [run]);
  await pool.query('vacuum (analyze) millrace.run_search');
}

async function timed<Result>(ms: number[], call: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await call();
  ms.push(performance.now() - startedAt);
  return result;
}

/** The goal of the specification: 20 ms for 95 in 100, 300 ms for a search in errors. */
export function runsListMarkdown(times: readonly PageTimes[], runs: number): string {
  const rows = times.map(({ filter, page, ms }) => {
    const sorted = ms.toSorted((a, b) => a - b);
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
    const goal = filter.startsWith('search') ? 300 : 20;
    const cells = [
      filter,
      page,
      at(0.5).toFixed(1),
      at(0.95).toFixed(1),
      at(1).toFixed(1),
      at(0.95) <= goal ? 'reached' : 'missed',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `Runs list over ${runs} runs, pages of ${LIMIT}, milliseconds per page with its transaction.`,
    '',
    '| filter | page | p50 | p95 | max | |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
