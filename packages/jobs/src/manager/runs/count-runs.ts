import { z } from 'zod';

import type { ShownStatus } from '../../contract/run-state.ts';
import { defineRead, type VerbScope } from '../verb.ts';
import { type Lane, liveLanes, planRunList } from './plan-run-list.ts';
import { budgetOf, ENDS, hasRest } from './read-run-page.ts';
import { type IdRange, idRange, runFilter, SHOWN_STATES } from './run-filter.ts';
import { countLane, countLiveLane, type LiveCounts } from './sql/count-runs.ts';
import { queueNames } from './sql/list-runs.ts';

/** Counting ends here: "1000+" says as much. */
const COUNT_LIMIT = 1_000;

export interface CappedCount {
  /** At most {@link COUNT_LIMIT}. */
  readonly count: number;
  /** Whether there may be more than was counted: "1000+", or fewer where not every run was looked at. */
  readonly more: boolean;
}

const LIVE_STATES = ['scheduled', 'queued', 'running', 'retrying'] as const;
type LiveState = (typeof LIVE_STATES)[number];

/** How many runs a filter finds in each state that it is not about itself, each counted up to a limit. */
export const countRuns = defineRead({
  name: 'runs.counts',
  permission: 'ops.jobs.read',
  input: z.strictObject({ filter: runFilter.omit({ state: true }).default({}) }).prefault({}),
  async read({ tx }, { filter }): Promise<Record<ShownStatus, CappedCount>> {
    const { rows } = await tx.query<{ name: string }>(queueNames);
    const queues = rows.map(({ name }) => name);
    const ids = idRange(filter);
    const { from: _from, to: _to, ...rest } = filter;
    const live = await countLive(tx, liveLanes(rest, queues), ids);
    const counts: Partial<Record<ShownStatus, CappedCount>> = { ...live };
    for (const state of ['succeeded', 'failed', 'cancelled'] as const) {
      counts[state] = await countTerminal(tx, planRunList({ ...filter, state }, queues).lanes, ids);
    }
    return Object.fromEntries(
      SHOWN_STATES.map((state) => [state, counts[state] ?? NONE]),
    ) as Record<ShownStatus, CappedCount>;
  },
});

const NONE: CappedCount = { count: 0, more: false };

async function countTerminal(
  tx: VerbScope['tx'],
  lanes: readonly Lane[],
  ids: IdRange,
): Promise<CappedCount> {
  let total = NONE;
  for (const lane of lanes) {
    const budget = budgetOf(lane.rest, COUNT_LIMIT + 1);
    const { rows } = await tx.query<{ looked: number; found: number }>(
      countLane(lane, ids, budget),
    );
    const { looked, found } = rows[0] ?? { looked: 0, found: 0 };
    total = add(total, found, hasRest(lane.rest) && looked === budget);
  }
  return total;
}

/** All live states in one walk per lane: they are told apart only there. */
async function countLive(
  tx: VerbScope['tx'],
  lanes: readonly Lane[],
  ids: IdRange,
): Promise<Record<LiveState, CappedCount>> {
  const counts = { scheduled: NONE, queued: NONE, running: NONE, retrying: NONE };
  for (const lane of lanes) {
    const { rows } = await tx.query<LiveCounts>(countLiveLane(lane, ids, ENDS.oldest));
    const row = rows[0];
    if (!row) continue;
    for (const state of LIVE_STATES) {
      counts[state] = add(counts[state], row[state], row.looked === ENDS.oldest);
    }
  }
  return counts;
}

function add({ count, more }: CappedCount, found: number, mayBeMore: boolean): CappedCount {
  return {
    count: Math.min(COUNT_LIMIT, count + found),
    more: more || mayBeMore || count + found > COUNT_LIMIT,
  };
}
