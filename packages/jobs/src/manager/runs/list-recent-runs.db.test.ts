import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { isTerminal, type RunState } from '../../contract/run-state.ts';
import { listRecentRuns, type ListRecentRunsInput } from './list-recent-runs.ts';

const NOW = new Date('2030-01-31T02:00:00Z');
const WORKER = '00000000-0000-7000-8000-00000000000f';

/** The id of the nth run; ids grow with n as UUIDv7 do with time. */
const id = (n: number): string => `01a22f44-e215-7d89-a5b9-${String(n).padStart(12, '0')}`;
const ids = (from: number, to: number): string[] => {
  const step = from <= to ? 1 : -1;
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => id(from + i * step));
};
const secondsAgo = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1_000);

describe('listRecentRuns', () => {
  const database = useDatabase({ expectViolations: true }); // runs without tickets and history
  const list = (input?: ListRecentRunsInput) =>
    listRecentRuns({ db: database.db, clock: () => NOW }, input);

  async function addRun(
    n: number,
    state: RunState = 'queued',
    times: { runAt?: Date; startedAt?: Date | null; finishedAt?: Date } = {},
  ): Promise<void> {
    const ended = isTerminal(state);
    const {
      runAt = secondsAgo(60),
      startedAt = secondsAgo(50),
      finishedAt = secondsAgo(20),
    } = times;
    await database.db.run.create({
      data: {
        id: id(n),
        definition: 'test.echo',
        queue: 'default',
        state,
        trigger: 'app',
        runAt,
        enqueuedAt: secondsAgo(90),
        startedAt: state === 'queued' ? null : startedAt,
        finishedAt: ended ? finishedAt : null,
        ticket: ended ? null : 1n,
        workerId: state === 'running' ? WORKER : null,
        endCode: state === 'failed' ? 'timed_out' : state === 'cancelled' ? 'cancelled' : null,
        execution: 1,
        attempt: 1,
        maxAttempts: 3,
        args: { secret: 'an argument' },
        context: { requestId: 'a request' },
        tags: ['a tag'],
        result: ended ? { count: 1 } : {},
      },
    });
  }

  it('answers an empty page when there are no runs', async () => {
    expect(await list()).toEqual({ runs: [], older: null, newer: null });
  });

  it('shows ids, states, times and codes, and nothing else of a run', async () => {
    await addRun(1, 'failed');

    const { runs } = await list();

    expect(runs).toEqual([
      {
        id: id(1),
        definition: 'test.echo',
        queue: 'default',
        status: 'failed',
        trigger: 'app',
        attempt: 1,
        maxAttempts: 3,
        enqueuedAt: secondsAgo(90),
        runAt: secondsAgo(60),
        startedAt: secondsAgo(50),
        finishedAt: secondsAgo(20),
        waitedMs: 10_000,
        tookMs: 30_000,
        endCode: 'timed_out',
      },
    ]);
    expect(JSON.stringify(runs)).not.toMatch(/argument|request|tag|count/);
  });

  it('pages from the newest to the oldest and back', async () => {
    for (let n = 1; n <= 7; n++) await addRun(n);
    const page = async (input: ListRecentRunsInput) => {
      const { runs, older, newer } = await list({ limit: 3, ...input });
      return { runs: runs.map((run) => run.id), older, newer };
    };

    expect(await page({})).toEqual({ runs: ids(7, 5), older: id(5), newer: null });
    expect(await page({ before: id(5) })).toEqual({
      runs: ids(4, 2),
      older: id(2),
      newer: id(4),
    });
    expect(await page({ before: id(2) })).toEqual({ runs: [id(1)], older: null, newer: id(1) });
    expect(await page({ after: id(1) })).toEqual({ runs: ids(4, 2), older: id(2), newer: id(4) });
    expect(await page({ after: id(4) })).toEqual({ runs: ids(7, 5), older: id(5), newer: null });
    expect(await page({ after: id(6) })).toEqual({ runs: ids(7, 5), older: id(5), newer: null });
    expect(await page({ before: id(1) })).toEqual({ runs: [], older: null, newer: id(1) });
  });

  it('says that the last page is the last when it is full', async () => {
    for (let n = 1; n <= 4; n++) await addRun(n);
    expect((await list({ limit: 2, before: id(3) })).older).toBeNull();
  });

  it('answers 50 runs unless told otherwise and refuses more than 100', async () => {
    for (let n = 1; n <= 51; n++) await addRun(n);
    expect((await list()).runs).toHaveLength(50);
    expect((await list({ limit: 51 })).runs).toHaveLength(51);
    await expect(list({ limit: 101 })).rejects.toMatchObject({ code: 'invalid_cursor' });
    await expect(list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it.each(['before', 'after'])('refuses a %s that is no id', async (cursor) => {
    await expect(list({ [cursor]: "'; --" })).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('refuses two cursors at once', async () => {
    await expect(list({ before: id(1), after: id(1) })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
  });

  it.each([
    ['scheduled', 1],
    ['queued', 2],
    ['running', 3],
    ['retrying', 4],
    ['succeeded', 5],
    ['failed', 6],
    ['cancelled', 7],
  ] as const)('filters by the shown state %s', async (state, n) => {
    await addRun(1, 'queued', { runAt: secondsAgo(-30) });
    await addRun(2);
    await addRun(3, 'running');
    await addRun(4, 'retrying', { runAt: secondsAgo(-30) });
    await addRun(5, 'succeeded');
    await addRun(6, 'failed');
    await addRun(7, 'cancelled');

    const { runs } = await list({ state });

    expect(runs.map((run) => [run.id, run.status])).toEqual([[id(n), state]]);
  });

  it.each([
    ['is not due', 'queued', { runAt: secondsAgo(-30) }, null, null],
    ['is due', 'queued', {}, 60_000, null],
    ['runs', 'running', {}, 10_000, 50_000],
    ['runs on a clock that is ahead', 'running', { startedAt: secondsAgo(-1) }, 61_000, 0],
    ['waits for its next attempt', 'retrying', { runAt: secondsAgo(-30) }, null, null],
    ['was cancelled before it was due', 'cancelled', { runAt: secondsAgo(-30) }, null, null],
    ['was cancelled while it waited', 'cancelled', { startedAt: null }, 40_000, null],
    [
      'was cancelled between two attempts',
      'cancelled',
      { startedAt: secondsAgo(80), runAt: secondsAgo(30) },
      10_000,
      null,
    ],
  ] as const)('times a run that %s', async (_, state, times, waitedMs, tookMs) => {
    await addRun(1, state, times);
    expect((await list()).runs[0]).toMatchObject({ waitedMs, tookMs });
  });
});
