import { createHash } from 'node:crypto';

import type { IdRange } from '../run-filter.ts';
import type { Lane, LaneIndex, Rest } from '../plan-run-list.ts';

export interface Statement {
  /** Without one it is planned for its values each time. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

export type Direction = 'asc' | 'desc';

/** By lane: the column before the id, and the predicate of its index. */
const LANES: Record<LaneIndex, { readonly column?: string; readonly predicate?: string }> = {
  id: {},
  definition: { column: 'definition' },
  queue: { column: 'queue', predicate: "r.queue <> 'default'" },
  trigger: { column: 'trigger', predicate: "r.trigger <> 'app'" },
  failed: { predicate: "r.end_code <> 'cancelled'" },
  failed_by_definition: { column: 'definition', predicate: "r.end_code <> 'cancelled'" },
  cancelled: { predicate: "r.end_code = 'cancelled'" },
  live_by_definition: { column: 'definition', predicate: 'r.finished_at is null' },
  live_by_queue: { column: 'queue', predicate: 'r.finished_at is null' },
  live_inline: { predicate: 'r.queue is null and r.finished_at is null' },
};

/** Parameters in the order in which a text comes to name them. */
export class Values {
  readonly values: unknown[] = [];
  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  }
}

/**
 * The runs of a lane in its order. A lane with a column compares (column, id) as rows and never says
 * that the column equals its key: so no other index gives the order, and the planner, which may think
 * that a frequent definition is found as fast along the primary key, has no choice.
 */
export function laneOf(
  { index, key }: Lane,
  { above, below }: IdRange,
  way: Direction,
  values: Values,
) {
  const { column, predicate } = LANES[index];
  const bound = (id: string): string => values.add(id, 'uuid');
  const conditions =
    column === undefined
      ? [`r.id < ${bound(below)}`, `r.id > ${bound(above)}`]
      : [
          `(r.${column}, r.id) < (${values.add(key, 'text')}, ${bound(below)})`,
          `(r.${column}, r.id) > (${values.add(key, 'text')}, ${bound(above)})`,
        ];
  if (predicate) conditions.push(predicate);
  return {
    from: `millrace.runs r where ${conditions.join(' and ')}`,
    order: column === undefined ? `r.id ${way}` : `r.${column} ${way}, r.id ${way}`,
  };
}

/** In the order of the transaction's beginning, which is the list's "now". */
const STATES: Record<NonNullable<Rest['state']>, string> = {
  scheduled: "r.state = 'queued' and r.run_at > transaction_timestamp()",
  queued: "r.state = 'queued' and r.run_at <= transaction_timestamp()",
  running: "r.state = 'running'",
  retrying: "r.state = 'retrying'",
  succeeded: "r.state = 'succeeded'",
  failed: "r.state = 'failed'",
  cancelled: "r.state = 'cancelled'",
};

export function restOf(
  { state, definition, queue, trigger, tag, search }: Rest,
  values: Values,
): string {
  const conditions: string[] = [];
  if (state) conditions.push(STATES[state]);
  if (definition !== undefined) conditions.push(`r.definition = ${values.add(definition, 'text')}`);
  if (queue !== undefined) conditions.push(`r.queue = ${values.add(queue, 'text')}`);
  if (trigger !== undefined) conditions.push(`r.trigger = ${values.add(trigger, 'text')}`);
  if (tag !== undefined) conditions.push(`r.tags @> array[${values.add(tag, 'text')}]`);
  if (search !== undefined) {
    conditions.push(`exists (
      select from millrace.executions e
       where e.run_id = r.id and e.error is not null
         and to_tsvector('simple', concat_ws(' ', e.error ->> 'name', e.error ->> 'message'))
             @@ websearch_to_tsquery('simple', ${values.add(search, 'text')}))`);
  }
  return conditions.join(' and ') || 'true';
}

/** One name per text: each is planned once per connection. Limits are part of it, for the planner's sake. */
export function toStatement(text: string, { values }: Values): Statement {
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return { name: `millrace_list_runs_${digest}`, text, values };
}
