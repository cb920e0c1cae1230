import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { cursorKey } from './cursor-key.ts';
import { planRunList } from './plan-run-list.ts';
import { type Found, readRunPage } from './read-run-page.ts';
import { runCursors } from './run-cursor.ts';
import { idRange, runFilter } from './run-filter.ts';
import { type RunView, toRunView } from './run-view.ts';
import { queueNames, searchIndexedAt } from './sql/list-runs.ts';
import type { Direction } from './sql/run-lanes.ts';
import { databaseTime } from '../definitions/sql/definition-facts.ts';

/** A page of runs, newest first, and the cursors of its neighbours. */
export interface RunPage {
  readonly runs: readonly RunView[];
  /** Cursor of the next page; null on the last one. */
  readonly older: string | null;
  /** Cursor of the page before; null on the newest one. */
  readonly newer: string | null;
  /**
   * False when not every run was looked at that may belong here, because that would take too long: with
   * an `older` the list goes on there, without one what is missing stands behind a long backlog.
   */
  readonly complete: boolean;
  /** Of a search: when the index of errors was last built; null: never, so only recent runs are found. */
  readonly searchIndexedAt: Date | null;
}

/**
 * Runs, newest first by id (UUIDv7). Any combination of filters costs a bounded time: where no index
 * fits, a page may be short or empty and still have a next one. A cursor belongs to its filter; with
 * a cursor to the newer that leaves less than a page above, the newest page is answered. Throws
 * `invalid_cursor` for any other cursor.
 */
export const listRuns = defineRead({
  name: 'runs.list',
  permission: 'ops.jobs.read',
  input: z
    .strictObject({
      filter: runFilter.default({}),
      limit: z.int().min(1).max(100).default(50),
      cursor: z.string().max(100).optional(),
    })
    .prefault({}),
  async read({ pool, tx }, { filter, limit, cursor }): Promise<RunPage> {
    const cursors = runCursors(await cursorKey(pool, tx), filter);
    const from = cursor === undefined ? null : cursors.read(cursor);
    const { rows: clock } = await tx.query<{ now: Date }>(databaseTime);
    const now = clock[0]?.now ?? new Date();
    const { rows: queues } = await tx.query<{ name: string }>(queueNames);
    const indexedAt =
      filter.search === undefined
        ? null
        : ((await tx.query<{ indexedAt: Date | null }>(searchIndexedAt)).rows[0]?.indexedAt ??
          null);

    const plan = planRunList(
      filter,
      queues.map(({ name }) => name),
    );
    const all = idRange(filter);
    const read = (way: Direction, range = all): Promise<Found> =>
      readRunPage(tx, plan, { range, all, way, limit, indexed: indexedAt !== null });
    const page = (found: Found, older: string | null, newer: string | null): RunPage => {
      const rows = found.rows.toSorted((a, b) => (a.id > b.id ? -1 : 1));
      return {
        runs: rows.map((row) => toRunView(row, now)),
        older: older && cursors.write({ toward: 'older', id: older }),
        newer: newer && cursors.write({ toward: 'newer', id: newer }),
        complete: found.complete,
        searchIndexedAt: indexedAt,
      };
    };

    if (from?.toward === 'newer' && from.id > all.above) {
      const found = await read('asc', { ...all, above: from.id });
      if (found.next !== null) return page(found, found.rows[0]?.id ?? from.id, found.next);
    }
    const older = from?.toward === 'older' && from.id < all.below ? from.id : null;
    const found = await read('desc', older === null ? all : { ...all, below: older });
    // Of an empty page too there is a way back: what is newer than its cursor.
    return page(found, found.next, older && (found.rows[0]?.id ?? older));
  },
});
