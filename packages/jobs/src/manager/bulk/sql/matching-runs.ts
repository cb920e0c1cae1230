import { idRange } from '../../runs/run-filter.ts';
import type { BulkFilter, BulkRunState } from '../bulk-request.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The predicate of an index that has the runs of such a state, and the state itself. */
const BRANCHES: Record<BulkRunState, string> = {
  failed: "r.end_code <> 'cancelled' and r.state = 'failed'",
  cancelled: "r.end_code = 'cancelled' and r.state = 'cancelled'",
  queued: "r.finished_at is null and r.state = 'queued' and r.run_at <= transaction_timestamp()",
  scheduled: "r.finished_at is null and r.state = 'queued' and r.run_at > transaction_timestamp()",
  retrying: "r.finished_at is null and r.state = 'retrying'",
  running: "r.finished_at is null and r.state = 'running'",
};

/**
 * The first `limit` runs of a filter. The text differs with the filter, and it has no name: so it is
 * planned for its values each time, which decide between the indexes.
 */
function matching(
  filter: BulkFilter,
  states: readonly BulkRunState[],
  limit: number,
  values: unknown[],
): string {
  const bind = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const conditions: string[] = [];
  const add = (column: string, value: string | undefined, type = 'text'): void => {
    if (value !== undefined) conditions.push(`${column} ${bind(value, type)}`);
  };
  add('r.definition =', filter.definition);
  add('r.queue =', filter.queue);
  add('r.trigger =', filter.trigger);
  if (filter.tag !== undefined) {
    conditions.push(`r.tags <> '{}' and r.tags @> array[${bind(filter.tag, 'text')}]`);
  }
  add('r.end_code =', filter.endCode);
  add('r.finished_at >=', filter.finishedFrom, 'timestamptz');
  add('r.finished_at <', filter.finishedTo, 'timestamptz');
  const { from, to } = filter;
  if (from !== undefined) add('r.id >', idRange({ from }).above, 'uuid');
  if (to !== undefined) add('r.id <', idRange({ to }).below, 'uuid');
  // What ended before an instant was enqueued before it: a bound that indexes know.
  if (filter.finishedTo !== undefined) {
    add('r.id <', idRange({ to: filter.finishedTo }).below, 'uuid');
  }
  if (filter.ids) conditions.push(`r.id = any (${bind(filter.ids, 'uuid[]')})`);
  const branches = [...new Set(states)].map(
    (state) => `
  select r.id, r.definition, r.dedupe_key, r.queue, r.finished_at, r.args is null as erased
    from millrace.runs r where ${[BRANCHES[state], ...conditions].join(' and ')}`,
  );
  return `select * from (${branches.join('\n  union all')}) r limit ${limit}`;
}

/** How many of the first `limit` runs match, and how many of them a retry would skip. */
export function countMatching(
  filter: BulkFilter,
  states: readonly BulkRunState[],
  limit: number,
): Statement {
  const values: unknown[] = [];
  const text = `
with matching as materialized (${matching(filter, states, limit, values)}),
eligible as (
  select m.*, row_number() over (partition by m.definition, m.dedupe_key order by m.id) as nth
    from matching m where m.finished_at is not null and m.queue is not null and not m.erased
     and m.dedupe_key is not null
)
select (select count(*) from matching)::integer as total,
       (select count(*) from matching m where m.finished_at is not null and m.queue is null)::integer as inline,
       (select count(*) from matching m
         where m.finished_at is not null and m.queue is not null and m.erased)::integer as erased,
       (select count(*) from eligible e
         where e.nth > 1
            or exists (select from millrace.runs live
                        where live.definition = e.definition and live.dedupe_key = e.dedupe_key
                          and live.finished_at is null))::integer as duplicate`;
  return { text, values };
}

export interface MatchingCounts {
  readonly total: number;
  readonly inline: number;
  readonly erased: number;
  readonly duplicate: number;
}

/** Writes down the first `limit` runs that match as the items of a bulk action. */
export function selectItems(
  bulkId: string,
  filter: BulkFilter,
  states: readonly BulkRunState[],
  limit: number,
): Statement {
  const values: unknown[] = [bulkId];
  const text = `
insert into millrace.bulk_items (bulk_id, run_id, ended_at)
select $1, m.id, m.finished_at from (${matching(filter, states, limit, values)}) m order by m.id`;
  return { text, values };
}
