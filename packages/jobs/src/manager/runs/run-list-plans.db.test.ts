import { useDatabase } from '@millrace/db/testing';
import type pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';

import { managerContext } from '../../testing/manager-context.ts';
import { countRuns } from './count-runs.ts';
import { listRuns, type RunPage } from './list-runs.ts';
import type { RunFilter } from './run-filter.ts';
import { generateRuns } from './sql/generate-runs.ts';

const RUNS = 50_000;
const LIVE = 2_000;
const LIMIT = 50;

const database = useDatabase({ expectViolations: true, poolSize: 2 });

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly Plans?: readonly Plan[];
}

/** Every statement of a verb, explained as it is executed. */
async function plansOf(work: (pool: pg.Pool) => Promise<unknown>): Promise<Plan[]> {
  const plans: Plan[] = [];
  const explain = async (client: pg.PoolClient, text: string, values: unknown[]): Promise<void> => {
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, timing off, format json) ${text}`,
      values,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan) plans.push(plan);
  };
  const pool = {
    async connect() {
      const client = await database.pool.connect();
      return new Proxy(client, {
        get(target, property) {
          if (property !== 'query') {
            const value: unknown = Reflect.get(target, property);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          }
          return async (given: string | { text: string; values?: unknown[] }) => {
            if (typeof given === 'object' && given.text.includes('millrace.runs')) {
              await explain(target, given.text, given.values ?? []);
            }
            return target.query(given as pg.QueryConfig);
          };
        },
      });
    },
  };
  await work(pool as unknown as pg.Pool);
  return plans;
}

function nodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)];
}

async function planned(filter: RunFilter): Promise<{
  indexes: string[];
  /** Rows that entered a sort. */
  sorted: number;
  /** Rows of a scan of the primary key. */
  byKey: number;
}> {
  const context = managerContext(database, 'viewer');
  const first = await listRuns(context, { filter, limit: LIMIT });
  const plans = await plansOf(async (pool) => {
    await listRuns({ ...context, pool }, { filter, limit: LIMIT });
    if (first.older) {
      await listRuns({ ...context, pool }, { filter, limit: LIMIT, cursor: first.older });
    }
  });
  const all = plans.flatMap(nodes);
  const scans = all.filter((node) => node['Node Type'] === 'Seq Scan');
  expect(scans.map((node) => node['Relation Name'])).not.toContain('runs');
  const sorts = all.filter((node) => node['Node Type'].endsWith('Sort'));
  return {
    indexes: [...new Set(all.flatMap((node) => node['Index Name'] ?? []))].sort(),
    byKey: Math.max(
      0,
      ...all.map((node) => (node['Index Name'] === 'runs_pkey' ? node['Actual Rows'] : 0)),
    ),
    sorted: Math.max(
      0,
      ...sorts.flatMap((node) => (node.Plans ?? []).map((each) => each['Actual Rows'])),
    ),
  };
}

/** The ids of all pages, one way and back, and of the truth. */
async function walked(filter: RunFilter, where: string): Promise<[string[], string[], string[]]> {
  const context = managerContext(database, 'viewer');
  const pages: RunPage[] = [];
  const ids = (page: RunPage): string[] => page.runs.map((run) => run.id);
  let cursor: string | null | undefined = undefined;
  do {
    const page: RunPage = await listRuns(context, {
      filter,
      limit: 100,
      ...(cursor && { cursor }),
    });
    pages.push(page);
    cursor = page.older;
  } while (cursor);
  const back = new Set(ids(pages.at(-1) as RunPage));
  cursor = pages.at(-1)?.newer;
  while (cursor) {
    const page: RunPage = await listRuns(context, { filter, limit: 100, cursor });
    for (const each of ids(page)) back.add(each);
    cursor = page.newer;
  }
  const { rows } = await database.pool.query<{ id: string }>(
    `select id from millrace.runs where ${where} order by id desc`,
  );
  return [pages.flatMap(ids), [...back].sort().reverse(), rows.map((row) => row.id)];
}

describe('the lists of many runs', () => {
  beforeEach(async () => {
    const client = await database.pool.connect();
    await client.query("begin; set local session_replication_role = 'replica'");
    await client.query(generateRuns, [RUNS, LIVE]);
    await client.query('commit; analyze millrace.runs');
    client.release();
  });

  it('are read along an index, without a sequential scan or a sort of more than a page', async () => {
    const cases: [RunFilter, string[]][] = [
      [{}, ['runs_pkey']],
      [{ definition: 'demo.sync' }, ['runs_by_definition']],
      [{ definition: 'demo.audit' }, ['runs_by_definition']],
      [{ state: 'failed' }, ['runs_failed']],
      [{ state: 'cancelled' }, ['runs_cancelled']],
      [{ definition: 'demo.bill', state: 'failed' }, ['runs_failed_by_definition']],
      [{ queue: 'mail' }, ['runs_by_queue']],
      [{ queue: 'default' }, ['runs_pkey']],
      [{ trigger: 'manual' }, ['runs_by_trigger']],
      [
        { definition: 'demo.sync', state: 'running' },
        ['runs_live_by_definition', 'runs_pkey'], // the ones found, by their ids
      ],
      [{ definition: 'demo.bill', state: 'queued' }, ['runs_live_by_definition']],
      [{ queue: 'batch', state: 'queued' }, ['runs_live']],
    ];
    const to = new Date(Date.now() - (RUNS / 2) * 2_000).toISOString();
    for (const [filter, indexes] of cases) {
      const found = await planned(filter);
      expect([filter, found.indexes]).toEqual([filter, indexes]);
      expect([filter, found.sorted <= LIMIT + 1]).toEqual([filter, true]);
      const deep = await planned({ ...filter, to });
      expect([filter, 'deep', deep.indexes]).toEqual([filter, 'deep', indexes]);
    }
    const tagged = await planned({ tag: 'customer:15' });
    expect(tagged.indexes).toEqual(['runs_tagged']);
    const running = await planned({ state: 'running' });
    expect(running.indexes).toContain('runs_live');
    expect(running.byKey).toBeLessThanOrEqual(1);
    expect(running.sorted).toBeLessThanOrEqual(LIVE / 400);
    const counts = await plansOf((pool) =>
      countRuns({ ...managerContext(database, 'viewer'), pool }, {}),
    );
    expect(
      counts
        .flatMap(nodes)
        .filter((node) => node['Relation Name'] === 'runs' && /Seq/.test(node['Node Type'])),
    ).toEqual([]);
  });

  it('miss nothing where the budget of a walk ends before a page is full, either way', async () => {
    await database.pool.query(
      `update millrace.runs set trigger = 'event', tags = '{sparse}', definition = 'demo.rare'
        where id in (select id from millrace.runs where finished_at is not null order by id limit 250)`,
    );
    await database.pool.query('analyze millrace.runs');
    const sparse = await listRuns(managerContext(database, 'viewer'), {
      filter: { definition: 'demo.sync', tag: 'sparse' },
    });
    expect([sparse.runs, sparse.older, sparse.complete]).toEqual([[], null, true]);
    const cases: [RunFilter, string][] = [
      [{ trigger: 'event' }, "trigger = 'event'"],
      [{ tag: 'sparse' }, "tags @> '{sparse}'"],
      [{ queue: 'mail', trigger: 'event' }, "queue = 'mail' and trigger = 'event'"],
      [{ state: 'succeeded', trigger: 'event' }, "state = 'succeeded' and trigger = 'event'"],
      [
        { definition: 'demo.sync', trigger: 'schedule', state: 'failed' },
        "definition = 'demo.sync' and trigger = 'schedule' and state = 'failed'",
      ],
      [{ state: 'queued', trigger: 'manual' }, "state = 'queued' and trigger = 'manual'"],
      [{ state: 'running' }, "state = 'running'"],
      [
        { queue: 'default', definition: 'demo.rare' },
        "queue = 'default' and definition = 'demo.rare'",
      ],
    ];
    for (const [filter, where] of cases) {
      const [down, up, truth] = await walked(filter, where);
      expect([filter, down]).toEqual([filter, truth]);
      expect([filter, up]).toEqual([filter, truth]);
    }
  }, 60_000);
});

describe('claims', () => {
  it('find none of their columns in an index, so that they stay in their page', async () => {
    const { rows } = await database.pool.query<{ definition: string }>(
      `select indexdef as definition from pg_indexes
        where schemaname = 'millrace' and tablename = 'runs'
          and indexdef ~ '\\m(state|execution|attempt|worker_id|started_at|config_version)\\M'`,
    );
    expect(rows).toEqual([]);
  });
});
