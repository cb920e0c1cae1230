import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { TerminalState } from '../../contract/run-state.ts';
import { performJob } from '../../testing/perform-job.ts';
import { pruneRuns } from './definition.ts';
import { handler } from './handler.ts';

const database = useDatabase();
const WORKER = '00000000-0000-7000-8000-00000000000f';

const prune = () => performJob(pruneRuns, handler, {}, { db: database.db });

/** Runs that ended so many hours ago, with a content of their own. */
async function ended(state: TerminalState, hours: number, count = 1): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    `with run as (
       insert into millrace.runs (id, definition, queue, state, trigger, run_at, execution, attempt, max_attempts,
                                  args, result, end_code, enqueued_at, started_at, finished_at)
       select millrace.uuid_v7(), 'test.old', 'default', $1::text, 'app', t.at, 1, 1, 3, '{"to": "ann@example.org"}',
              '{"sent": 1}', case when $1 <> 'succeeded' then 'cancelled' end, t.at, t.at, t.at
         from generate_series(1, $3::integer), (select now() - $2 * interval '1 hour' as at) t
       returning id, finished_at
     ),
     execution as (
       insert into millrace.executions (run_id, execution, charged, outcome, worker_id, waited_ms, started_at,
                                        finished_at, error)
       select id, 1, true, 'failed', '${WORKER}', 0, finished_at, finished_at, '{"message": "no"}' from run
     ),
     line as (
       insert into millrace.run_log (run_id, execution, seq, at, level, message)
       select id, 1, 1, now(), 'info', 'a line' from run
     )
     select id from run`,
    [state, hours, count],
  );
  return rows.map(({ id }) => id);
}

async function contentOf(id: string | undefined): Promise<string[]> {
  const run = await database.db.run.findUnique({ where: { id: id ?? '' } });
  const execution = await database.db.execution.findFirst({ where: { runId: id ?? '' } });
  const lines = await database.db.runLog.count({ where: { runId: id ?? '' } });
  if (!run) return ['no run', ...(execution ? ['history'] : []), ...(lines > 0 ? ['lines'] : [])];
  return [
    ...(run.args ? ['args'] : []),
    ...(run.result ? ['result'] : []),
    ...(execution?.error ? ['error'] : []),
    ...(lines > 0 ? ['lines'] : []),
  ];
}
const ALL = ['args', 'result', 'error', 'lines'];

describe('prune_runs', () => {
  it.each([
    ['succeeded', 0.9, ALL],
    ['succeeded', 1.1, []],
    ['cancelled', 23, ALL],
    ['cancelled', 25, []],
    ['failed', 167, ALL],
    ['failed', 169, []],
    ['failed', 721, ['no run']],
    ['succeeded', 721, ['no run']],
  ] as const)('keeps of a run that is %s for %s h: %j', async (state, hours, content) => {
    const [id] = await ended(state, hours);
    await prune();
    expect(await contentOf(id)).toEqual(content);
  });

  it('treats many in batches, and says how many', async () => {
    await ended('succeeded', 2, 2_500);
    await ended('failed', 800, 1_200);
    expect(await prune()).toEqual({ erased: 2_500 + 1_200, removed: 1_200 });
    expect(await prune()).toEqual({ erased: 0, removed: 0 });
    expect(await database.db.run.count({ where: { args: { not: {} } } })).toBe(0);
  });

  it('comes back for a run that somebody was changing', async () => {
    const [id] = await ended('succeeded', 2);
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from millrace.runs where id = $1 for update', [id]);
      expect(await prune()).toEqual({ erased: 0, removed: 0 });
      await client.query('commit');
    } finally {
      client.release();
    }
    expect(await prune()).toEqual({ erased: 1, removed: 0 });
    expect(await contentOf(id)).toEqual([]);
  });

  it('leaves the scheduler its answer', async () => {
    const [id] = await ended('succeeded', 721);
    await database.pool.query(
      `insert into millrace.scheduler_jobs (run_id, definition, idempotency_key, outcome, finished_at)
       values ($1, 'test.old', 'key-0001', 'succeeded', now())`,
      [id],
    );
    await prune();
    expect(await database.db.schedulerJob.findFirst()).toMatchObject({
      runId: id,
      outcome: 'succeeded',
    });
  });
});
