import type { Lane, Rest } from '../plan-run-list.ts';
import type { IdRange } from '../run-filter.ts';
import {
  type Direction,
  laneOf,
  restOf,
  type Statement,
  toStatement,
  Values,
} from './run-lanes.ts';

/** A row of a list. Nothing of arguments, contexts and results. */
export interface ListedRun {
  readonly id: string;
  readonly definition: string;
  readonly queue: string | null;
  readonly state: string;
  readonly trigger: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  readonly enqueuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly endCode: string | null;
  readonly tags: readonly string[];
}

export const RUN_COLUMNS = `r.id, r.definition, r.queue, r.state, r.trigger, r.attempt,
       r.max_attempts as "maxAttempts", r.run_at as "runAt", r.enqueued_at as "enqueuedAt",
       r.started_at as "startedAt", r.finished_at as "finishedAt", r.end_code as "endCode", r.tags`;
/** What conditions may ask of. */
const ASKED = 'r.id, r.definition, r.queue, r.state, r.trigger, r.run_at, r.tags';
const INNER = `r.id, r.definition, r.queue, r.state, r.trigger, r.attempt, r.max_attempts, r.run_at,
       r.enqueued_at, r.started_at, r.finished_at, r.end_code, r.tags`;

/** The first `limit` runs of a lane that fit its rest, looking at no more than `budget`. */
export function walkLane(
  given: Lane,
  range: IdRange,
  way: Direction,
  { budget, limit }: { readonly budget: number; readonly limit: number },
): Statement {
  const values = new Values();
  const { from, order } = laneOf(given, range, way, values);
  const text = `
select ${RUN_COLUMNS}
  from (select ${INNER} from ${from} order by ${order} limit ${budget}) r
 where ${restOf(given.rest, values)}
 order by ${order} limit ${limit}`;
  return toStatement(text, values);
}

/** The id of the last run that a walk looks at which uses up its budget; no row: it comes to the end. */
export function walkHorizon(
  given: Lane,
  range: IdRange,
  way: Direction,
  budget: number,
): Statement {
  const values = new Values();
  const { from, order } = laneOf(given, range, way, values);
  const text = `
select r.id from ${from} order by ${order} offset ${budget - 1} limit 1`;
  return toStatement(text, values);
}

/** What there is at the ends of a lane: without an id where nothing was found. */
export type EndRow = Partial<ListedRun> & { readonly looked: number };

/**
 * Of the `oldest` runs of a lane (in `all`) and, if there are more, of the `newest`, those that fit its rest:
 * the first `limit` of them in `range`. Each row tells at how many of the oldest was looked.
 */
export function walkEnds(
  given: Lane,
  { all, range }: { readonly all: IdRange; readonly range: IdRange },
  way: Direction,
  { oldest, newest, limit }: Record<'oldest' | 'newest' | 'limit', number>,
): Statement {
  const values = new Values();
  const up = laneOf(given, all, 'asc', values);
  const down = laneOf(given, all, 'desc', values);
  const fits = restOf(given.rest, values);
  const text = `
with up as materialized (
  select ${ASKED} from ${up.from} order by ${up.order} limit ${oldest}
),
found as materialized (
  select r.id from up r where ${fits}
  union
  (select r.id
     from (select ${ASKED} from ${down.from} and (select count(*) from up) = ${oldest}
            order by ${down.order} limit ${newest}) r
    where ${fits})
)
select up.looked, f.*
  from (select count(*)::integer as looked from up) up
  left join lateral (
    select ${RUN_COLUMNS}
      from (select found.id from found
             where found.id < ${values.add(range.below, 'uuid')} and found.id > ${values.add(range.above, 'uuid')}
             order by found.id ${way} limit ${limit}) page,
           lateral (select ${INNER} from millrace.runs r where r.id = page.id offset 0) r
     order by r.id ${way}) f on true`;
  return toStatement(text, values);
}

/**
 * The runs that have a tag or words in their errors, by the index of either. Planned for the very values: a
 * plan for any value would not use these indexes.
 */
function matches({ tag, search }: Rest, { above, below }: IdRange, values: Values): string {
  const within = (id: string): string =>
    `${id} < ${values.add(below, 'uuid')} and ${id} > ${values.add(above, 'uuid')}`;
  if (search === undefined) {
    return `
with found as materialized (
  select ${INNER} from millrace.runs r
   where r.tags <> '{}' and r.tags @> array[${values.add(tag, 'text')}] and ${within('r.id')}
)`;
  }
  // C is the weight of errors in a document.
  return `
with asked as materialized (
  select regexp_replace(websearch_to_tsquery('simple', ${values.add(search, 'text')})::text,
                        $$'((?:[^']|'')+)'$$, '\\&:C', 'g')::tsquery as words
),
found as materialized (
  select s.run_id as id from millrace.run_search s, millrace.search_index i, asked
   where s.generation = i.current_generation and s.document @@ asked.words and ${within('s.run_id')}
)`;
}

/** How many they are, counted up to `limit`. */
export function countMatches(asked: Rest, range: IdRange, limit: number): Statement {
  const values = new Values();
  const text = `${matches(asked, range, values)}
select count(*)::integer as found from (select from found limit ${limit}) f`;
  return { text, values: values.values };
}

/** The first `limit` of them that fit the rest. Everything that is found is sorted. */
export function matchRuns(asked: Rest, range: IdRange, way: Direction, limit: number): Statement {
  const values = new Values();
  const { search: _search, ...byTag } = asked;
  const { tag: _tag, ...neither } = byTag;
  // Looked up one by one: the planner cannot know how few matches there are.
  const runs =
    asked.search === undefined
      ? 'found r'
      : `found, lateral (select ${INNER} from millrace.runs r where r.id = found.id offset 0) r`;
  const text = `${matches(asked, range, values)}
select ${RUN_COLUMNS}
  from ${runs}
 where ${restOf(asked.search === undefined ? neither : byTag, values)}
 order by r.id ${way} limit ${limit}`;
  return { text, values: values.values };
}

/** When the index of errors was last built; null: never. */
export const searchIndexedAt = {
  name: 'millrace_search_indexed_at',
  text: `
select case when i.current_generation > 0 then i.swapped_at end as "indexedAt" from millrace.search_index i`,
} as const;

export const queueNames = {
  name: 'millrace_queue_names',
  text: 'select q.name from millrace.queues q order by q.name',
} as const;
