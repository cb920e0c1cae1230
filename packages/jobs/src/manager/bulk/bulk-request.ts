import { z } from 'zod';

import { END_CODES, type EndCode } from '../../contract/run-state.ts';
import { runFilter } from '../runs/run-filter.ts';

export const BULK_ACTIONS = ['retry', 'cancel'] as const;
export type BulkActionKind = (typeof BULK_ACTIONS)[number];

/** In which states, as people see them, an action finds something to do. */
export const BULK_STATES = {
  retry: ['failed', 'cancelled'],
  cancel: ['queued', 'scheduled', 'retrying', 'running'],
} as const;
export type BulkRunState = (typeof BULK_STATES)[BulkActionKind][number];

/** More runs than this are refused: the set is written down when the action starts. */
export const BULK_LIMIT = 100_000;

const instant = z.iso.datetime({ offset: true });

/** Which runs a bulk action is about: those for which all of it holds when it starts. */
const bulkFilter = runFilter
  .pick({ definition: true, queue: true, trigger: true, tag: true, from: true, to: true })
  .extend({
    /** Any of them; unless given, all in which the action finds something to do. */
    state: z
      .array(z.enum([...BULK_STATES.retry, ...BULK_STATES.cancel]))
      .min(1)
      .max(4)
      .optional(),
    endCode: z.enum(Object.keys(END_CODES) as [EndCode, ...EndCode[]]).optional(),
    /** Ended at this instant or later. */
    finishedFrom: instant.optional(),
    /** Ended before this instant. */
    finishedTo: instant.optional(),
    ids: z.array(z.uuid()).min(1).max(1_000).optional(),
  });
export type BulkFilter = z.output<typeof bulkFilter>;

/** What a preview and a start have in common. */
export const bulkTarget = z.strictObject({
  action: z.enum(BULK_ACTIONS),
  filter: bulkFilter,
});

interface BulkTarget {
  readonly action: BulkActionKind;
  readonly filter: BulkFilter;
}

/** Refuses a filter that cannot be meant. */
export function checkTarget({ action, filter }: BulkTarget, context: z.RefinementCtx): void {
  const refuse = (field: string, message: string): void =>
    context.addIssue({ code: 'custom', path: ['filter', field], message });
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (given.length === 0) {
    context.addIssue({
      code: 'custom',
      path: ['filter'],
      message: 'names nothing, so it would mean every run; say at least one state',
    });
  }
  const allowed: readonly string[] = BULK_STATES[action];
  const wrong = filter.state?.filter((state) => !allowed.includes(state)) ?? [];
  if (wrong.length > 0) {
    refuse('state', `a ${action} takes ${allowed.join(', ')}, not ${wrong.join(', ')}`);
  }
  if (action === 'retry') return;
  for (const field of ['endCode', 'finishedFrom', 'finishedTo'] as const) {
    if (filter[field] !== undefined) refuse(field, 'runs that can be cancelled have not ended');
  }
}

/** The states that an action looks for, as people see them. */
export function statesOf({ action, filter }: BulkTarget): readonly BulkRunState[] {
  return filter.state ?? BULK_STATES[action];
}

/** In which of the stored states a run must still be when its turn comes. */
export function storedStatesOf(target: BulkTarget): readonly string[] {
  // A run that becomes due while it waits for its turn is still the one that was meant.
  const stored = statesOf(target).map((state) => (state === 'scheduled' ? 'queued' : state));
  return [...new Set(stored)];
}
