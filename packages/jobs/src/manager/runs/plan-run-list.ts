import type { RunFilter } from './run-filter.ts';

/** An order in which runs can be walked, newest or oldest first: the id, or an index that ends with it. */
export type LaneIndex =
  | 'id'
  | 'definition'
  | 'queue'
  | 'trigger'
  | 'failed'
  | 'failed_by_definition'
  | 'cancelled'
  | 'live_by_definition'
  | 'live_by_queue'
  | 'live_inline';

/** What is asked of each run of a walk, beyond what its lane says. */
export type Rest = Omit<RunFilter, 'from' | 'to'>;

/** One walk. */
export interface Lane {
  readonly index: LaneIndex;
  /** The definition, queue or trigger of a lane that has one. */
  readonly key: string | null;
  readonly rest: Rest;
}

export interface ListPlan {
  /** Their runs together, merged by id, are the list. */
  readonly lanes: readonly Lane[];
  /**
   * `walk`: newest first. `ends`: runs in this state are few and most of them among the oldest or the
   * newest of the lane, however much waits between.
   */
  readonly mode: 'walk' | 'ends';
}

/** Which indexes a list goes along. Where none fits all of the filter, the rest is asked run by run. */
export function planRunList(filter: RunFilter, queues: readonly string[]): ListPlan {
  const { from: _from, to: _to, ...all } = filter;
  const { state, definition } = all;
  switch (state) {
    case 'scheduled':
    case 'queued':
    case 'running':
    case 'retrying':
      return {
        lanes: liveLanes(all, queues),
        mode: state === 'running' || state === 'retrying' ? 'ends' : 'walk',
      };
    case 'failed':
      return definition === undefined
        ? walk('failed', null, all, 'state')
        : walk('failed_by_definition', definition, all, 'state', 'definition');
    case 'cancelled':
      return walk('cancelled', null, all, 'state');
    case 'succeeded': // nearly every run
    case undefined:
      return finishedAndLive(all);
  }
}

/** The lanes of what is not over. */
export function liveLanes(all: Rest, queues: readonly string[]): Lane[] {
  const { definition, queue, state } = all;
  if (definition !== undefined) {
    return [{ index: 'live_by_definition', key: definition, rest: without(all, 'definition') }];
  }
  const named = queue === undefined ? queues : [queue];
  const rest = without(all, 'queue');
  const lanes: Lane[] = named.map((key) => ({ index: 'live_by_queue', key, rest }));
  const inline = queue === undefined && (state === 'running' || state === undefined);
  return inline ? [...lanes, { index: 'live_inline', key: null, rest }] : lanes;
}

function finishedAndLive(all: Rest): ListPlan {
  const { definition, queue, trigger } = all;
  if (definition !== undefined) return walk('definition', definition, all, 'definition');
  // Most runs are of the default queue, and of applications: those are met by the way.
  if (queue !== undefined && queue !== 'default') return walk('queue', queue, all, 'queue');
  if (trigger !== undefined && trigger !== 'app') return walk('trigger', trigger, all, 'trigger');
  return walk('id', null, all);
}

function walk(
  index: LaneIndex,
  key: string | null,
  all: Rest,
  ...covered: (keyof Rest)[]
): ListPlan {
  return { lanes: [{ index, key, rest: without(all, ...covered) }], mode: 'walk' };
}

function without(all: Rest, ...covered: (keyof Rest)[]): Rest {
  const names: readonly string[] = covered;
  return Object.fromEntries(
    Object.entries(all).filter(([name, value]) => value !== undefined && !names.includes(name)),
  );
}
