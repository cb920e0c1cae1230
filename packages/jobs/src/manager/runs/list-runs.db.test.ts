import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { Permission } from '../../contract/permission.ts';
import { isTerminal, type RunState } from '../../contract/run-state.ts';
import {
  indexStep,
  openGeneration,
  swapGeneration,
} from '../../definitions/reindex-runs/sql/search-index.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { countRuns } from './count-runs.ts';
import { listRuns, type RunPage } from './list-runs.ts';

const MINUTE = 60_000;
const WORKER = '00000000-0000-7000-8000-00000000000f';
/** Ids grow with n as UUIDv7 do with time, here a minute per run. */
const at = (n: number): Date => new Date(Date.UTC(2030, 0, 1) + n * MINUTE);
const id = (n: number): string => {
  const ms = at(n).getTime().toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`;
};

const database = useDatabase({ expectViolations: true }); // runs without tickets and history
const viewer = () => managerContext(database, 'viewer', 'Vera');
type Input = NonNullable<Parameters<typeof listRuns>[1]>;
const list = (input: Input = {}): Promise<RunPage> => listRuns(viewer(), input);
const numbers = ({ runs }: RunPage): number[] =>
  runs.map((run) => Number((Date.parse(String(run.enqueuedAt)) - at(0).getTime()) / MINUTE));
const find = async (filter: Input['filter']): Promise<number[]> => numbers(await list({ filter }));

interface Given {
  readonly definition?: string;
  readonly queue?: string;
  readonly trigger?: string;
  readonly tags?: string[];
  readonly runAt?: Date;
  readonly error?: string;
}

async function addRun(n: number, state: RunState = 'queued', given: Given = {}): Promise<void> {
  const ended = isTerminal(state);
  const started = new Date(Date.now() - 50_000);
  await database.db.run.create({
    data: {
      id: id(n),
      definition: given.definition ?? 'test.echo',
      queue: given.queue ?? 'default',
      state,
      trigger: given.trigger ?? 'app',
      runAt: given.runAt ?? new Date(Date.now() - 60_000),
      enqueuedAt: at(n),
      startedAt: state === 'queued' ? null : started,
      finishedAt: ended ? new Date(Date.now() - 20_000) : null,
      ticket: ended ? null : 1n,
      workerId: state === 'running' ? WORKER : null,
      endCode: state === 'failed' ? 'timed_out' : state === 'cancelled' ? 'cancelled' : null,
      execution: 1,
      attempt: 1,
      maxAttempts: 3,
      args: { secret: 'canary-argument' },
      context: { requestId: 'a request' },
      tags: given.tags ?? [],
      result: ended ? { count: 1 } : {},
    },
  });
  if (given.error === undefined) return;
  await database.db.execution.create({
    data: {
      runId: id(n),
      execution: 1,
      charged: true,
      outcome: 'failed',
      workerId: WORKER,
      waitedMs: 0,
      startedAt: started,
      finishedAt: started,
      error: { name: 'Error', message: given.error, stack: '' },
    },
  });
}

async function reindex(): Promise<void> {
  const run = randomUUID();
  await database.pool.query(openGeneration, [run]);
  await database.pool.query(indexStep, [run, 1_000]);
  await database.pool.query(swapGeneration, [run]);
}

describe('listRuns', () => {
  it('answers an empty page when there are no runs', async () => {
    expect(await list()).toEqual({
      runs: [],
      older: null,
      newer: null,
      complete: true,
      searchIndexedAt: null,
    });
  });

  it('shows ids, states, times, codes and tags, and nothing else of a run', async () => {
    await addRun(1, 'failed', { tags: ['customer:1'] });
    const page = await list();
    expect(page.runs).toEqual([
      expect.objectContaining({
        id: id(1),
        definition: 'test.echo',
        queue: 'default',
        status: 'failed',
        trigger: 'app',
        attempt: 1,
        maxAttempts: 3,
        endCode: 'timed_out',
        tags: ['customer:1'],
      }),
    ]);
    expect(JSON.stringify(page)).not.toMatch(/canary|a request|count/);
  });

  it('pages from the newest to the oldest and back while runs arrive', async () => {
    for (let n = 1; n <= 7; n++) await addRun(n);
    const first = await list({ limit: 3 });
    expect([numbers(first), first.newer]).toEqual([[7, 6, 5], null]);
    await addRun(8);
    const second = await list({ limit: 3, cursor: first.older ?? '' });
    expect(numbers(second)).toEqual([4, 3, 2]);
    const third = await list({ limit: 3, cursor: second.older ?? '' });
    expect([numbers(third), third.older]).toEqual([[1], null]);
    const back = await list({ limit: 3, cursor: third.newer ?? '' });
    expect(numbers(back)).toEqual([4, 3, 2]);
    const up = await list({ limit: 3, cursor: back.newer ?? '' });
    expect(numbers(up)).toEqual([7, 6, 5]);
    // Less than a page above: the newest page.
    const newest = await list({ limit: 3, cursor: up.newer ?? '' });
    expect([numbers(newest), newest.newer]).toEqual([[8, 7, 6], null]);
  });

  it('says that the last page is the last when it is full', async () => {
    for (let n = 1; n <= 4; n++) await addRun(n);
    const { older } = await list({ limit: 2 });
    expect((await list({ limit: 2, cursor: older ?? '' })).older).toBeNull();
  });

  it('refuses a cursor of another list, a changed one and junk', async () => {
    for (let n = 1; n <= 3; n++) await addRun(n, 'failed');
    const cursor = (await list({ limit: 1, filter: { state: 'failed' } })).older ?? '';
    const other = cursor.startsWith('AA') ? `AB${cursor.slice(2)}` : `AA${cursor.slice(2)}`;
    const refused = { code: 'invalid_cursor', status: 400 };
    await expect(list({ cursor })).rejects.toMatchObject(refused);
    for (const bad of [other, `${cursor}=`, cursor.slice(1), '', "'; --"]) {
      await expect(list({ cursor: bad, filter: { state: 'failed' } })).rejects.toMatchObject(
        refused,
      );
    }
    expect(numbers(await list({ cursor, filter: { state: 'failed' } }))).toEqual([2, 1]);
  });

  it.each<Input>([
    { limit: 0 },
    { limit: 101 },
    { filter: { definition: 'x'.repeat(64) } },
    { filter: { tag: 'a\0b' } },
    { filter: { from: 'yesterday' } },
    { filter: { state: 'broken' as 'failed' } },
    { filter: { else: 1 } as never },
  ])('refuses %j', async (input) => {
    await expect(list(input)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('is denied without the permission, and that is audited', async () => {
    const nobody = {
      ...viewer(),
      actor: { ...viewer().actor, permissions: [] as Permission[] },
    };
    await expect(listRuns(nobody, {})).rejects.toMatchObject({ code: 'forbidden' });
    await expect(countRuns(nobody, {})).rejects.toMatchObject({ code: 'forbidden' });
    const { rows } = await database.pool.query(
      'select action, outcome, actor_label as who from millrace.audit_events order by id',
    );
    expect(rows).toEqual([
      { action: 'runs.list', outcome: 'denied', who: 'Vera' },
      { action: 'runs.counts', outcome: 'denied', who: 'Vera' },
    ]);
  });
});

describe('filters of listRuns', () => {
  async function addOneOfEach(definition = 'test.echo'): Promise<void> {
    const later = new Date(Date.now() + 30_000);
    await addRun(1, 'queued', { runAt: later, definition });
    await addRun(2, 'queued', { definition });
    await addRun(3, 'running', { definition });
    await addRun(4, 'retrying', { runAt: later, definition });
    await addRun(5, 'succeeded', { definition });
    await addRun(6, 'failed', { definition });
    await addRun(7, 'cancelled', { definition });
  }
  const BY_STATE = [
    ['scheduled', 1],
    ['queued', 2],
    ['running', 3],
    ['retrying', 4],
    ['succeeded', 5],
    ['failed', 6],
    ['cancelled', 7],
  ] as const;

  it.each(BY_STATE)('finds by the shown state %s, alone and with others', async (state, n) => {
    await addOneOfEach();
    expect(await find({ state })).toEqual([n]);
    expect(await find({ state, definition: 'test.echo' })).toEqual([n]);
    expect(await find({ state, definition: 'test.other' })).toEqual([]);
    expect(await find({ state, queue: 'default', trigger: 'app' })).toEqual([n]);
    expect(await find({ state, queue: 'mail' })).toEqual([]);
    expect(await find({ state, from: at(n).toISOString() })).toEqual([n]);
    expect(await find({ state, to: at(n).toISOString() })).toEqual([]);
  });

  it('counts every state', async () => {
    await addOneOfEach();
    await addRun(8, 'running', { queue: 'mail', definition: 'test.other' });
    const one = { count: 1, more: false };
    const none = { count: 0, more: false };
    const each = Object.fromEntries(BY_STATE.map(([state]) => [state, one]));
    expect(await countRuns(viewer(), {})).toEqual({ ...each, running: { count: 2, more: false } });
    expect(await countRuns(viewer(), { filter: { queue: 'default' } })).toEqual(each);
    expect(await countRuns(viewer(), { filter: { definition: 'test.other' } })).toEqual({
      ...Object.fromEntries(BY_STATE.map(([state]) => [state, none])),
      running: one,
    });
  });

  it('finds by queue, trigger, definition and tag', async () => {
    await addRun(1, 'succeeded', { queue: 'mail', trigger: 'manual', tags: ['a', 'b'] });
    await addRun(2, 'succeeded', { queue: 'mail', definition: 'test.other' });
    await addRun(3, 'failed', { trigger: 'manual', tags: ['b'], definition: 'test.other' });
    await addRun(4);
    expect(await find({ queue: 'mail' })).toEqual([2, 1]);
    expect(await find({ queue: 'default' })).toEqual([4, 3]);
    expect(await find({ trigger: 'manual' })).toEqual([3, 1]);
    expect(await find({ trigger: 'app' })).toEqual([4, 2]);
    expect(await find({ tag: 'b' })).toEqual([3, 1]);
    expect(await find({ tag: 'b', queue: 'mail' })).toEqual([1]);
    expect(await find({ tag: 'b', state: 'failed' })).toEqual([3]);
    expect(await find({ tag: 'b', definition: 'test.other', trigger: 'manual' })).toEqual([3]);
    expect(await find({ tag: 'c' })).toEqual([]);
    expect(await find({ definition: 'test.other' })).toEqual([3, 2]);
    expect(await find({ definition: 'test.other', queue: 'mail' })).toEqual([2]);
  });

  it('shows inline runs that are running', async () => {
    await addRun(1, 'running');
    await database.pool.query(
      `update millrace.runs set queue = null, ticket = null, lease_until = now() + interval '5 s'`,
    );
    expect(await find({ state: 'running' })).toEqual([1]);
    expect(await find({ state: 'running', definition: 'test.echo' })).toEqual([1]);
    expect((await countRuns(viewer(), {})).running).toEqual({ count: 1, more: false });
  });

  it('finds words in errors, with an index of them and without', async () => {
    await addRun(1, 'failed', { error: 'no answer from smtp.example.org in time' });
    await addRun(2, 'failed', { error: 'no such mailbox', tags: ['answer'] });
    await addRun(3, 'succeeded', { error: 'no answer at first' });
    expect(await list({ filter: { search: 'answer' } })).toMatchObject({ searchIndexedAt: null });
    expect(await find({ search: 'answer' })).toEqual([3, 1]);
    await reindex();
    expect((await list({ filter: { search: 'answer' } })).searchIndexedAt).toBeInstanceOf(Date);
    expect(await find({ search: 'answer' })).toEqual([3, 1]);
    expect(await find({ search: 'answer', state: 'failed' })).toEqual([1]);
    expect(await find({ search: '"no such"' })).toEqual([2]);
    expect(await find({ search: '-- ::' })).toEqual([]);
  });
});
