import type { Lane } from '../plan-run-list.ts';
import type { IdRange } from '../run-filter.ts';
import { laneOf, restOf, type Statement, toStatement, Values } from './run-lanes.ts';

const COLUMNS = 'r.id, r.definition, r.queue, r.state, r.trigger, r.run_at, r.tags';

/** At how many of the newest `budget` runs of a lane was looked, and how many of them fit its rest. */
export function countLane(lane: Lane, ids: IdRange, budget: number): Statement {
  const values = new Values();
  const { from, order } = laneOf(lane, ids, 'desc', values);
  const text = `
select count(*)::integer as looked, count(*) filter (where ${restOf(lane.rest, values)})::integer as found
  from (select ${COLUMNS} from ${from} order by ${order} limit ${budget}) r`;
  return toStatement(text, values);
}

export interface LiveCounts {
  readonly looked: number;
  readonly scheduled: number;
  readonly queued: number;
  readonly running: number;
  readonly retrying: number;
}

/** The oldest `budget` runs of a lane of live ones, those that fit its rest counted by what is shown. */
export function countLiveLane(lane: Lane, ids: IdRange, budget: number): Statement {
  const values = new Values();
  const { from, order } = laneOf(lane, ids, 'asc', values);
  const { state: _state, ...others } = lane.rest;
  const fits = restOf(others, values);
  const count = (condition: string): string =>
    `count(*) filter (where r.state = ${condition} and ${fits})::integer`;
  const text = `
select count(*)::integer as looked,
       ${count("'queued' and r.run_at > transaction_timestamp()")} as scheduled,
       ${count("'queued' and r.run_at <= transaction_timestamp()")} as queued,
       ${count("'running'")} as running, ${count("'retrying'")} as retrying
  from (select ${COLUMNS} from ${from} order by ${order} limit ${budget}) r`;
  return toStatement(text, values);
}
