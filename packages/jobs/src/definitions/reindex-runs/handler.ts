import { defineHandler } from '../../authoring/handler.ts';
import { fatal } from '../../authoring/outcome.ts';
import { reindexRuns } from './definition.ts';
import {
  dropOldGenerations,
  indexStep,
  openGeneration,
  swapGeneration,
} from './sql/search-index.ts';

const STEP = 1_000;
const DROP_STEP = 5_000;

/**
 * Builds a new generation of search documents beside the current one, a step per transaction; the
 * next attempt of the same run goes on where this one ended. Searches see the new one from the swap
 * on, and never a half-built one.
 */
export const handler = defineHandler(reindexRuns, async (_args, { db, runId, signal, log }) => {
  await db.$queryRawUnsafe(openGeneration, runId);
  let indexed = 0;
  for (;;) {
    signal.throwIfAborted();
    const [step] = await db.$queryRawUnsafe<{ indexed: number }[]>(indexStep, runId, STEP);
    if (!step) return fatal('another run has begun to rebuild the index');
    if (step.indexed === 0) break;
    indexed += step.indexed;
  }
  const [swapped] = await db.$queryRawUnsafe<{ generation: number }[]>(swapGeneration, runId);
  if (!swapped) return fatal('another run has begun to rebuild the index');
  log.info({ indexed, generation: swapped.generation }, 'search index swapped in');

  let dropped = 0;
  for (;;) {
    const count = await db.$executeRawUnsafe(dropOldGenerations, DROP_STEP);
    dropped += count;
    if (count < DROP_STEP || signal.aborted) break;
  }
  return { indexed, dropped, generation: swapped.generation };
});
