import type { Db } from '@millrace/db/client';
import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { isTerminal, RUN_STATES, type ShownStatus } from '../../contract/run-state.ts';
import { RUN_VIEW_COLUMNS, type RunView, toRunView } from './run-view.ts';

/** What a verb that only reads is given. */
export interface ReadContext {
  readonly db: Db;
  readonly clock: () => Date;
}

const MAX_LIMIT = 100;

const cursor = z.uuid().optional();
const input = z
  .object({
    limit: z.int().min(1).max(MAX_LIMIT).default(50),
    /** Only runs that are shown in this state. */
    state: z.enum(['scheduled', ...RUN_STATES]).optional(),
    /** The id of a run: the page of runs next older than it. */
    before: cursor,
    /** The id of a run: the page of runs next newer than it. */
    after: cursor,
  })
  .refine(({ before, after }) => !(before && after), { error: 'one cursor at a time' });
export type ListRecentRunsInput = z.input<typeof input>;

/** A page of runs, newest first, and the cursors of its neighbours. */
export interface RunPage {
  readonly runs: readonly RunView[];
  /** `before` of the next page; null on the last one. */
  readonly older: string | null;
  /** `after` of the page before; null on the newest one. */
  readonly newer: string | null;
}

/**
 * Recent runs, newest first by id (UUIDv7), at most `limit` (50 unless given, 100 at most). An `after`
 * that leaves less than a page above it answers the newest page. The cursors are ids of runs, which
 * may be gone meanwhile. Throws `invalid_cursor` for input that is none of this.
 */
export async function listRecentRuns(
  { db, clock }: ReadContext,
  given: ListRecentRunsInput = {},
): Promise<RunPage> {
  const parsed = input.safeParse(given);
  if (!parsed.success) throw new JobError('invalid_cursor', z.prettifyError(parsed.error));
  const { limit, state, before, after } = parsed.data;
  const now = clock();
  const find = async (ids: { lt?: string; gt?: string }, order: 'asc' | 'desc') => {
    const rows = await db.run.findMany({
      where: { id: ids, ...shownAs(state, now) },
      orderBy: { id: order },
      take: limit + 1, // one more tells whether there is a further page
      select: RUN_VIEW_COLUMNS,
    });
    return { rows: rows.slice(0, limit), further: rows.length > limit };
  };

  if (after) {
    const { rows, further } = await find({ gt: after }, 'asc');
    if (further) {
      const runs = rows.toReversed().map((row) => toRunView(row, now));
      return { runs, older: runs.at(-1)?.id ?? null, newer: runs[0]?.id ?? null };
    }
  }
  const { rows, further } = await find(before ? { lt: before } : {}, 'desc');
  const runs = rows.map((row) => toRunView(row, now));
  return {
    runs,
    older: further ? (runs.at(-1)?.id ?? null) : null,
    // Of an empty page too there is a way back: what is newer than its cursor.
    newer: before ? (runs[0]?.id ?? before) : null,
  };
}

/** `scheduled` is derived from the time a run becomes due; see `shownStatus`. */
function shownAs(status: ShownStatus | undefined, now: Date) {
  if (!status) return {};
  if (status === 'scheduled') return { state: 'queued', finishedAt: null, runAt: { gt: now } };
  if (status === 'queued') return { state: 'queued', finishedAt: null, runAt: { lte: now } };
  // Live runs have an index of their own; they are few.
  return isTerminal(status) ? { state: status } : { state: status, finishedAt: null };
}
