import { randomUUID } from 'node:crypto';

import type { Db } from '@millrace/db/client';
import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { RunAborted } from '../../authoring/handler.ts';
import { FatalOutcome } from '../../authoring/outcome.ts';
import { performJob } from '../../testing/perform-job.ts';
import { reindexRuns } from './definition.ts';
import { handler } from './handler.ts';
import { openGeneration } from './sql/search-index.ts';

const database = useDatabase();

async function addRuns(count: number, definition = 'test.plain'): Promise<void> {
  await database.pool.query(
    `select count(*) from millrace.enqueue_runs((
       select jsonb_agg(jsonb_build_object('definition', $1::text, 'queue', 'default', 'maxAttempts', 3,
                                           'tags', jsonb_build_array('tag' || n)))
         from generate_series(1, $2::integer) n))`,
    [definition, count],
  );
}
/** Ids of the runs that a search finds now. */
async function search(words: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ run_id: string }>(
    `select s.run_id from millrace.run_search s join millrace.search_index i on i.current_generation = s.generation
      where s.document @@ websearch_to_tsquery('simple', $1) order by 1`,
    [words],
  );
  return rows.map(({ run_id }) => run_id);
}
const documents = async () => {
  const { rows } = await database.pool.query<{
    generation: number;
    run_id: string;
    written: string;
  }>('select generation, run_id, xmin::text as written from millrace.run_search order by 1, 2');
  return rows;
};
const index = () => database.db.searchIndex.findFirstOrThrow();
const reindex = (runId: string, db: Db = database.db, signal = new AbortController().signal) =>
  performJob(reindexRuns, handler, {}, { db, runId, signal });

/** The real client; `before` is told the number of each statement, from 1. Opening is the first. */
function observed(before: (statement: number) => Promise<void> | void): Db {
  let statements = 0;
  return database.db.$extends({
    query: {
      async $allOperations({ args, query }) {
        await before(++statements);
        return query(args) as Promise<unknown>;
      },
    },
  }) as unknown as Db;
}
/** Aborts an attempt before its given statement; the handler hears of it afterwards. */
async function abortedAt(statement: number, runId: string): Promise<void> {
  const controller = new AbortController();
  const db = observed((now) => {
    if (now === statement) controller.abort(new RunAborted('shutdown'));
  });
  await expect(reindex(runId, db, controller.signal)).rejects.toBeInstanceOf(RunAborted);
}

describe('reindex_runs', () => {
  it('makes runs searchable by definition, tag, queue, state of their end and error', async () => {
    await addRuns(3);
    await addRuns(1, 'mail.send_letter');
    const letter = (
      await database.db.run.findFirstOrThrow({ where: { definition: 'mail.send_letter' } })
    ).id;
    await database.pool.query('select millrace.cancel_run($1)', [letter]);
    await database.pool.query(
      `insert into millrace.runs (id, definition, queue, state, trigger, run_at, execution, attempt, max_attempts,
                                  started_at, finished_at, end_code)
       values (millrace.uuid_v7(), 'test.broken', 'batch', 'failed', 'app', now(), 1, 1, 1, now(), now(), 'fatal')`,
    );
    const broken = (
      await database.db.run.findFirstOrThrow({ where: { definition: 'test.broken' } })
    ).id;
    await database.pool.query(
      `insert into millrace.executions (run_id, execution, charged, outcome, worker_id, waited_ms, started_at,
                                        finished_at, error)
       values ($1, 1, true, 'failed', $2, 0, now(), now(), '{"name": "DiskError", "message": "the disk is full"}')`,
      [broken, randomUUID()],
    );

    expect(await search('plain')).toEqual([]);
    expect(await reindex(randomUUID())).toEqual({ indexed: 5, dropped: 0, generation: 1 });
    expect(await search('test.plain')).toHaveLength(3);
    expect(await search('tag2')).toHaveLength(1);
    expect(await search('letter')).toEqual([letter]);
    expect(await search('cancelled')).toEqual([letter]);
    expect(await search('batch')).toEqual([broken]);
    expect(await search('"disk is full"')).toEqual([broken]);
    expect(await search('diskerror')).toEqual([broken]);
    expect(await index()).toMatchObject({
      currentGeneration: 1,
      buildingGeneration: null,
      buildingRunId: null,
      builtUpTo: null,
    });
  });

  it('swaps an empty index in when there are no runs', async () => {
    expect(await reindex(randomUUID())).toEqual({ indexed: 0, dropped: 0, generation: 1 });
  });

  it('replaces the former generation and removes it', async () => {
    await addRuns(3);
    await reindex(randomUUID());
    await addRuns(2, 'test.late');
    expect(await search('late')).toEqual([]);
    expect(await reindex(randomUUID())).toEqual({ indexed: 5, dropped: 3, generation: 2 });
    expect(await search('late')).toHaveLength(2);
    expect(new Set((await documents()).map(({ generation }) => generation))).toEqual(new Set([2]));
  });

  it('goes on after an abort where it ended, without indexing anything again', async () => {
    await addRuns(2_500);
    const runId = randomUUID();
    await abortedAt(3, runId); // open, 1000, and the step during which it is aborted
    const halfway = await documents();
    expect(halfway).toHaveLength(2_000);
    expect(await index()).toMatchObject({
      currentGeneration: 0,
      buildingGeneration: 1,
      buildingRunId: runId,
    });

    expect(await reindex(runId)).toEqual({ indexed: 500, dropped: 0, generation: 1 });
    const all = await documents();
    expect(all).toHaveLength(2_500);
    expect(all).toEqual(expect.arrayContaining([halfway[0], halfway[999], halfway[1_999]]));
    expect(new Set(all.map(({ written }) => written)).size).toBe(3);
    expect(await search('plain')).toHaveLength(2_500);
  });

  it('shows searchers the former generation until the swap, and the whole new one from then on', async () => {
    await addRuns(3);
    await reindex(randomUUID());
    await addRuns(1_200, 'test.late');
    const seen: [number, number][] = [];
    const db = observed(async () => {
      seen.push([(await search('plain')).length, (await search('late')).length]);
    });
    await reindex(randomUUID(), db);
    // Before: opening, three steps (the last finds nothing), the swap; then the removal.
    expect(seen).toEqual([...Array<[number, number]>(5).fill([3, 0]), [3, 1_200]]);
  });

  it('indexes what is added while it is building', async () => {
    await addRuns(1_000);
    const db = observed(async (statement) => {
      if (statement === 3) await addRuns(1, 'test.late');
    });
    expect(await reindex(randomUUID(), db)).toMatchObject({ indexed: 1_001 });
    expect(await search('late')).toHaveLength(1);
  });

  it.each([
    ['while it is building', 3],
    ['before it swaps', 4],
  ])('is fatal when another run has begun to rebuild the index %s', async (_when, statement) => {
    await addRuns(1_200);
    const other = randomUUID();
    const db = observed(async (now) => {
      if (now === statement) await database.db.$queryRawUnsafe(openGeneration, other);
    });
    expect(await reindex(randomUUID(), db)).toBeInstanceOf(FatalOutcome);
    expect(await index()).toMatchObject({
      currentGeneration: 0,
      buildingRunId: other,
      builtUpTo: null,
    });
    expect(await search('plain')).toEqual([]);

    expect(await reindex(other)).toMatchObject({ indexed: 1_200 });
    expect(new Set((await documents()).map(({ generation }) => generation)).size).toBe(1);
    expect(await search('plain')).toHaveLength(1_200);
  });

  it('begins anew when another run has taken its place meanwhile', async () => {
    await addRuns(1_500);
    const runId = randomUUID();
    await abortedAt(2, runId);
    await reindex(randomUUID());
    expect(await reindex(runId)).toMatchObject({ indexed: 1_500 });
    expect(await search('plain')).toHaveLength(1_500);
    expect(await documents()).toHaveLength(1_500);
  });
});
