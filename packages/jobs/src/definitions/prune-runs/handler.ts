import { setTimeout as sleep } from 'node:timers/promises';

import { defineHandler, type HandlerContext } from '../../authoring/handler.ts';
import { durationMs } from '../../contract/duration.ts';
import { TERMINAL_STATES } from '../../contract/run-state.ts';
import { pruneRuns } from './definition.ts';
import { KEEP_CONTENT, KEEP_RUNS } from './retention.ts';
import {
  contentLeft,
  eraseContent,
  instantBefore,
  removeBulkActions,
  removeRuns,
  runsLeft,
  setMark,
} from './sql/prune-runs.ts';

type Context = Pick<HandlerContext, 'db' | 'signal' | 'progress'>;

/** Small enough that nobody waits for its locks; the pause between two leaves room for others. */
const BATCH = 1_000;
const PAUSE_MS = 20;

/**
 * Erases and removes in small batches, each a transaction of its own, what is older than
 * `retention.ts` says. The next run goes on where this one was ended.
 */
export const handler = defineHandler(pruneRuns, async (_args, context) => {
  let erased = 0;
  for (const state of TERMINAL_STATES) {
    const duty = `erase_${state}`;
    const before = await instantOf(context, durationMs(KEEP_CONTENT[state]));
    erased += await batches(context, () => [eraseContent, duty, before, state, BATCH]);
    await markUnlessLeft(context, duty, before, [contentLeft, duty, before, state]);
  }
  const before = await instantOf(context, durationMs(KEEP_RUNS));
  const removed = await batches(context, () => [removeRuns, 'remove', before, BATCH]);
  await markUnlessLeft(context, 'remove', before, [runsLeft, 'remove', before]);
  await context.db.$queryRawUnsafe(removeBulkActions, before);
  return { erased, removed };
});

type Statement = readonly [sql: string, ...values: unknown[]];

async function instantOf({ db }: Context, agoMs: number): Promise<Date> {
  const [row] = await db.$queryRawUnsafe<{ instant: Date }[]>(instantBefore, agoMs);
  if (!row) throw new Error('the database gave no time');
  return row.instant;
}

/** Repeats a statement that answers how many rows it treated until it finds less than a batch. */
async function batches({ db, signal, progress }: Context, next: () => Statement): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const [sql, ...values] = next();
    const [row] = await db.$queryRawUnsafe<{ count: number }[]>(sql, ...values);
    const count = row?.count ?? 0;
    total += count;
    if (count < BATCH) return total;
    progress(total);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** What was locked meanwhile is found again: the mark stays until nothing is left before it. */
async function markUnlessLeft(
  { db }: Context,
  duty: string,
  until: Date,
  [sql, ...values]: Statement,
): Promise<void> {
  const [row] = await db.$queryRawUnsafe<{ left: boolean }[]>(sql, ...values);
  if (row?.left === false) await db.$executeRawUnsafe(setMark, duty, until);
}
