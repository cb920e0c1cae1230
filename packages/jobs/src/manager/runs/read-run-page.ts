import type pg from 'pg';

import type { Lane, ListPlan, Rest } from './plan-run-list.ts';
import type { IdRange } from './run-filter.ts';
import {
  type ListedRun,
  countMatches,
  type EndRow,
  matchRuns,
  walkEnds,
  walkHorizon,
  walkLane,
} from './sql/list-runs.ts';
import type { Direction, Statement } from './sql/run-lanes.ts';

/** How many runs a walk looks at where no index fits all of the filter. */
const WALK = 10_000;
/** The same where the errors of each are read. */
const SEARCH_WALK = 2_000;
/**
 * So many matches of a tag or of words are read and sorted at once; more only where a walk has not filled
 * the page.
 */
const MATCHES = { few: 2_000, bearable: 5_000 } as const;
/** How many live runs are looked at, from either end of a lane, for those that are running. */
export const ENDS = { oldest: 10_000, newest: 1_000 } as const;

/** What was found one way from a position. */
export interface Found {
  /** In the order of the walk, `limit` at most. */
  readonly rows: readonly ListedRun[];
  /** Where the next page goes on; null: there is nothing further. */
  readonly next: string | null;
  /** Whether everything as far as `next` has been looked at for all of the filter. */
  readonly complete: boolean;
}

interface Asked {
  readonly range: IdRange;
  /** The ids of the filter's time, whatever the position. */
  readonly all: IdRange;
  readonly way: Direction;
  readonly limit: number;
  /** Whether an index of errors is there. */
  readonly indexed: boolean;
}

/** One page of a plan, in a bounded time: it may end before it is full, and then says where to go on. */
export async function readRunPage(tx: pg.PoolClient, plan: ListPlan, asked: Asked): Promise<Found> {
  if (plan.mode === 'ends') return readEnds(tx, plan, asked);
  const { limit } = asked;
  const match = matchable(plan, asked);
  // The index of tags is always current; that of errors lags behind the walk.
  if (match?.search === undefined && match && (await atMost(tx, match, asked, MATCHES.few))) {
    return toPage(await readMatches(tx, match, asked, limit), limit);
  }
  const { rows, horizon } = await walkLanes(tx, plan.lanes, asked);
  if (rows.length > limit || horizon === null) return toPage(rows, limit);

  const further = beyond(asked, horizon);
  if (!match || !(await atMost(tx, match, further, MATCHES.bearable))) {
    return { rows, next: horizon, complete: false };
  }
  return toPage([...rows, ...(await readMatches(tx, match, further, limit - rows.length))], limit);
}

/** Of one more run than a page has, the page. */
function toPage(rows: readonly ListedRun[], limit: number): Found {
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.id ?? null) : null;
  return { rows: page, next, complete: true };
}

interface Walked {
  /** All runs that fit as far as the horizon, in the order of the walk; more than a page is cut off. */
  readonly rows: readonly ListedRun[];
  /** How far was looked; null: to the end. */
  readonly horizon: string | null;
}

async function walkLanes(
  tx: pg.PoolClient,
  lanes: readonly Lane[],
  { range, way, limit }: Asked,
): Promise<Walked> {
  const rows: ListedRun[] = [];
  const horizons: string[] = [];
  for (const lane of lanes) {
    const budget = budgetOf(lane.rest, limit + 1);
    const limits = { budget, limit: limit + 1 };
    const found = await all<ListedRun>(tx, walkLane(lane, range, way, limits));
    rows.push(...found);
    // A lane that gave a full page was not walked to the end of its budget.
    if (found.length > limit || !hasRest(lane.rest)) continue;
    const [horizon] = await all<{ id: string }>(tx, walkHorizon(lane, range, way, budget));
    if (horizon) horizons.push(horizon.id);
  }
  const order = (a: string, b: string): number => (a < b === (way === 'asc') ? -1 : 1);
  const horizon = horizons.toSorted(order)[0] ?? null;
  const seen = rows
    .filter(({ id }) => horizon === null || id === horizon || order(id, horizon) < 0)
    .toSorted((a, b) => order(a.id, b.id));
  return { rows: seen.slice(0, limit + 1), horizon };
}

function beyond(asked: Asked, horizon: string): Asked {
  const { range, way } = asked;
  const further = way === 'desc' ? { below: horizon } : { above: horizon };
  return { ...asked, range: { ...range, ...further } };
}

/** All of the filter, where it names a tag or words of which there is an index; else null. */
function matchable({ lanes }: ListPlan, { indexed }: Asked): Rest | null {
  const [lane] = lanes;
  if (!lane || lanes.length > 1) return null;
  const { tag, search } = lane.rest;
  return (search === undefined ? tag !== undefined : indexed) ? restOf(lane) : null;
}

async function atMost(
  tx: pg.PoolClient,
  match: Rest,
  { range }: Asked,
  count: number,
): Promise<boolean> {
  const [counted] = await all<{ found: number }>(tx, countMatches(match, range, count + 1));
  return (counted?.found ?? 0) <= count;
}

async function readMatches(
  tx: pg.PoolClient,
  match: Rest,
  { range, way }: Asked,
  limit: number,
): Promise<ListedRun[]> {
  return all<ListedRun>(tx, matchRuns(match, range, way, limit + 1));
}

/** Back to what the lane covered: the other index does not. */
function restOf({ index, key, rest }: Lane): Rest {
  switch (index) {
    case 'id':
      return rest;
    case 'definition':
      return { ...rest, definition: key ?? '' };
    case 'queue':
      return { ...rest, queue: key ?? '' };
    case 'trigger':
      return { ...rest, trigger: key as NonNullable<Rest['trigger']> };
    case 'failed':
      return { ...rest, state: 'failed' };
    case 'failed_by_definition':
      return { ...rest, state: 'failed', definition: key ?? '' };
    case 'cancelled':
      return { ...rest, state: 'cancelled' };
    case 'live_by_definition':
      return { ...rest, definition: key ?? '' };
    case 'live_by_queue':
      return { ...rest, queue: key ?? '' };
    case 'live_inline':
      return rest;
  }
}

async function readEnds(
  tx: pg.PoolClient,
  { lanes }: ListPlan,
  { all: allIds, range, way, limit }: Asked,
): Promise<Found> {
  const rows: ListedRun[] = [];
  let complete = true;
  for (const lane of lanes) {
    const limits = { ...ENDS, limit: limit + 1 };
    const found = await all<EndRow>(tx, walkEnds(lane, { all: allIds, range }, way, limits));
    rows.push(...found.filter((row): row is EndRow & ListedRun => typeof row.id === 'string'));
    complete &&= (found[0]?.looked ?? 0) < ENDS.oldest;
  }
  const sorted = rows.toSorted((a, b) => (a.id < b.id === (way === 'asc') ? -1 : 1));
  return { ...toPage(sorted, limit), complete };
}

export function hasRest(rest: Rest): boolean {
  return Object.keys(rest).length > 0;
}

export function budgetOf(rest: Rest, limit: number): number {
  if (!hasRest(rest)) return limit;
  return rest.search === undefined ? WALK : SEARCH_WALK;
}

async function all<Row extends pg.QueryResultRow>(
  tx: pg.PoolClient,
  statement: Statement,
): Promise<Row[]> {
  return (await tx.query<Row>(statement)).rows;
}
