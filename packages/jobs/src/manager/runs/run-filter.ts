import { z } from 'zod';

import { RUN_STATES, TRIGGERS } from '../../contract/run-state.ts';
import { definitionName } from '../definitions/config-patch.ts';
import { queueName } from '../queues/list-queues.ts';

export const SHOWN_STATES = ['scheduled', ...RUN_STATES] as const;

const text = z
  .string()
  .trim()
  .regex(/^[^\0]{1,200}$/, 'must have 1 to 200 characters');
const instant = z.iso.datetime({ offset: true });

/** Which runs a list, a count or a bulk action is about: those for which all of it holds. */
export const runFilter = z
  .strictObject({
    definition: definitionName,
    /** As people see it. */
    state: z.enum(SHOWN_STATES),
    queue: queueName,
    trigger: z.enum(TRIGGERS),
    tag: text,
    /** Enqueued at this instant or later, by the milliseconds of the run's id. */
    from: instant,
    /** Enqueued before this instant. */
    to: instant,
    /** Words in the errors of its executions, as one types them into a search engine. */
    search: text,
  })
  .partial();
export type RunFilter = z.output<typeof runFilter>;

/** Ids strictly between two others. */
export interface IdRange {
  readonly above: string;
  readonly below: string;
}

const LOWEST = '00000000-0000-0000-0000-000000000000';
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The ids of the time that the filter names. */
export function idRange({ from, to }: RunFilter): IdRange {
  return {
    above: from === undefined ? LOWEST : lowestId(from),
    below: to === undefined ? HIGHEST : lowestId(to),
  };
}

/** Below every UUIDv7 of that millisecond, above every earlier one. */
function lowestId(instantText: string): string {
  const ms = Math.min(Math.max(Date.parse(instantText), 0), 2 ** 48 - 1);
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
