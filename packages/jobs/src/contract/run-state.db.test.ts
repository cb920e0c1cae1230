import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { isTerminal, RUN_STATES, type RunState, TRANSITIONS } from './run-state.ts';

const WORKER = '00000000-0000-7000-8000-00000000000f';

/** The other columns of a run as its state requires them. */
function columnsOf(state: RunState): readonly unknown[] {
  const ended = isTerminal(state);
  return [
    state,
    ended ? null : 1,
    state === 'running' ? WORKER : null,
    state === 'failed' || state === 'cancelled' ? 'cancelled' : null,
    ended ? new Date() : null,
  ];
}

const PAIRS = RUN_STATES.flatMap((from) => RUN_STATES.map((to) => [from, to] as const));

describe('TRANSITIONS', () => {
  const database = useDatabase({ expectViolations: true }); // states without a history

  it.each(PAIRS)('says of %s → %s what the database does', async (from, to) => {
    await database.pool.query(
      `insert into millrace.runs (id, definition, queue, trigger, run_at, max_attempts, started_at,
                                  state, ticket, worker_id, end_code, finished_at)
       values (gen_random_uuid(), 'test.echo', 'default', 'app', now(), 3, now(), $1, $2, $3, $4, $5)`,
      [...columnsOf(from)],
    );
    const changed = database.pool
      .query(
        'update millrace.runs set state = $1, ticket = $2, worker_id = $3, end_code = $4, finished_at = $5',
        [...columnsOf(to)],
      )
      .then(
        () => 'allowed',
        (error: { code?: string }) => error.code,
      );
    const allowed = from === to || (TRANSITIONS[from] as readonly RunState[]).includes(to);
    expect(await changed).toBe(allowed ? 'allowed' : 'MR422');
  });
});
