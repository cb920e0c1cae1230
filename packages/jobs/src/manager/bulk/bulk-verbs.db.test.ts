import { randomUUID } from 'node:crypto';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { fatally, ok } from '../../testing/test-jobs.ts';
import { abortBulk } from './abort-bulk.ts';
import type { BulkFilter } from './bulk-request.ts';
import { getBulk } from './get-bulk.ts';
import { listBulk } from './list-bulk.ts';
import { previewBulk } from './preview-bulk.ts';
import { plantFailedRuns } from './sql/plant-failed-runs.ts';
import { startBulk } from './start-bulk.ts';

const database = useDatabase();
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');
const client = () => createJobClient({ pool: database.pool });

async function plant(
  count: number,
  definition: string = fatally.name,
  queue = 'batch',
): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string }>(plantFailedRuns, [
    count,
    definition,
    queue,
  ]);
  return rows.map(({ id }) => id);
}

async function audit() {
  const { rows } = await database.pool.query<{ text: string; detail: object }>(
    `select concat_ws(' ', action, outcome, actor_label, subject_kind, subject, reason) as text, detail
       from millrace.audit_events order by id`,
  );
  return rows;
}

/** All that are failed. */
const filter: BulkFilter = { state: ['failed'] };

const refusal = async (asked: Promise<unknown>) =>
  asked.then(
    () => 'accepted',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
const totalOf = async (action: 'retry' | 'cancel', filter: BulkFilter) =>
  (await previewBulk(operator(), { action, filter })).total;

describe('previewBulk', () => {
  it('counts what matches and what would be skipped, and changes nothing', async () => {
    const [erased, inline, keyed, twin, ...others] = await plant(10);
    await database.pool.query('update millrace.runs set args = null where id = $1', [erased]);
    await database.pool.query('update millrace.runs set queue = null where id = $1', [inline]);
    await database.pool.query(
      `update millrace.runs set dedupe_key = 'k' where id = any ($1::uuid[])`,
      [[keyed, twin]],
    );
    expect(await previewBulk(operator(), { action: 'retry', filter })).toEqual({
      total: 10,
      more: false,
      skips: { erased: 1, inline: 1, duplicate: 1 },
    });
    await client().enqueue(fatally, {}, { dedupe: { key: 'k' } });
    expect(await previewBulk(operator(), { action: 'retry', filter })).toMatchObject({
      skips: { duplicate: 2 },
    });
    expect(await totalOf('retry', { ids: others })).toBe(6);
    expect(await audit()).toEqual([]);
  });

  it('takes every part of a filter', async () => {
    const [first] = await plant(1);
    await plant(2, ok.name, 'mail');
    await client().enqueue(ok, {}, { tags: ['a "b"\\c', 'd'] });
    await client().enqueue(ok, {}, { delayMs: 3_600_000 });
    const past = '2001-01-01T00:00:00Z';
    const future = '2101-01-01T00:00:00Z';
    expect(await totalOf('retry', { definition: ok.name })).toBe(2);
    expect(await totalOf('retry', { queue: 'batch' })).toBe(1);
    expect(await totalOf('retry', { trigger: 'app' })).toBe(3);
    expect(await totalOf('retry', { trigger: 'event' })).toBe(0);
    expect(await totalOf('retry', { endCode: 'fatal' })).toBe(3);
    expect(await totalOf('retry', { endCode: 'poison' })).toBe(0);
    expect(await totalOf('retry', { state: ['cancelled'] })).toBe(0);
    expect(await totalOf('retry', { from: past, to: future })).toBe(3);
    expect(await totalOf('retry', { to: past })).toBe(0);
    expect(await totalOf('retry', { finishedFrom: past, finishedTo: future })).toBe(3);
    expect(await totalOf('retry', { finishedFrom: future })).toBe(0);
    expect(await totalOf('retry', { ids: [first as string, randomUUID()] })).toBe(1);
    expect(await totalOf('cancel', { state: ['queued'] })).toBe(1);
    expect(await totalOf('cancel', { state: ['scheduled'] })).toBe(1);
    expect(await totalOf('cancel', { state: ['queued', 'scheduled', 'running'] })).toBe(2);
    expect(await totalOf('cancel', { tag: 'a "b"\\c' })).toBe(1);
  });

  it('refuses a filter that cannot be meant', async () => {
    const preview = (action: string, filter: object) =>
      refusal(previewBulk(operator(), { action, filter } as never));
    expect(await preview('retry', {})).toBe(
      'invalid_request: filter: names nothing, so it would mean every run; say at least one state',
    );
    expect(await preview('retry', { state: ['running'] })).toBe(
      'invalid_request: filter.state: a retry takes failed, cancelled, not running',
    );
    expect(await preview('cancel', { endCode: 'fatal' })).toBe(
      'invalid_request: filter.endCode: runs that can be cancelled have not ended',
    );
    expect(await preview('delete', { state: ['failed'] })).toMatch(/^invalid_request: action/);
    expect(await preview('retry', { ids: ['1'] })).toMatch(/^invalid_request: filter.ids.0/);
    expect(
      await preview('retry', { ids: Array.from({ length: 1_001 }, () => randomUUID()) }),
    ).toMatch(/^invalid_request: filter.ids/);
  });
});

describe('startBulk', () => {
  it('writes down the runs that match and who wants what and why', async () => {
    await plant(3);
    const bulk = await startBulk(operator(), {
      action: 'retry',
      filter,
      reason: 'mended',
      rate: 7,
    });
    expect(bulk).toMatchObject({
      action: 'retry',
      filter,
      idCount: null,
      state: 'running',
      total: 3,
      done: 0,
      skipped: 0,
      skips: {},
      remaining: 3,
      rate: 7,
      reason: 'mended',
      actor: { kind: 'user', label: 'Grace' },
      finishedAt: null,
    });
    expect(await database.db.bulkItem.count({ where: { bulkId: bulk.id } })).toBe(3);
    expect(await audit()).toEqual([
      {
        text: `jobs.bulk.started done Grace bulk ${bulk.id} mended`,
        detail: { action: 'retry', filter, rate: 7, total: 3 },
      },
    ]);
  });

  it('is done at once when nothing matches', async () => {
    const filter = { ids: [randomUUID()] };
    const bulk = await startBulk(operator(), { action: 'cancel', filter, reason: 'no' });
    expect(bulk).toMatchObject({ state: 'done', total: 0, rate: 100, idCount: 1, filter: {} });
    expect(bulk.finishedAt).not.toBeNull();
  });

  it('refuses more runs than it can write down', { timeout: 60_000 }, async () => {
    await plant(100_001);
    expect(await previewBulk(operator(), { action: 'retry', filter })).toMatchObject({
      total: 100_000,
      more: true,
    });
    expect(await refusal(startBulk(operator(), { action: 'retry', filter, reason: 'all' }))).toBe(
      'invalid_request: filter: more than 100000 runs match; narrow it, for example by time.',
    );
    expect(await database.db.bulkItem.count()).toBe(0);
    await database.pool.query(
      `delete from millrace.runs where id = (select min(id::text)::uuid from millrace.runs)`,
    );
    expect(await startBulk(operator(), { action: 'retry', filter, reason: 'all' })).toMatchObject({
      total: 100_000,
    });
  });

  it('refuses a missing reason and a rate that is none', async () => {
    const start = (more: object) =>
      refusal(startBulk(operator(), { action: 'retry', filter, ...more } as never));
    expect(await start({})).toMatch(/^invalid_request: reason/);
    expect(await start({ reason: ' ' })).toMatch(/^invalid_request: reason/);
    for (const rate of [0, 1_001, 1.5]) {
      expect(await start({ reason: 'x', rate })).toMatch(/^invalid_request: rate/);
    }
    expect(await database.db.bulkAction.count()).toBe(0);
    expect(await audit()).toEqual([]);
  });
});

describe('getBulk and listBulk', () => {
  it('tell the progress, the newest first', async () => {
    await plant(4);
    const request = { action: 'retry' as const, filter, reason: 'x', rate: 1 };
    const older = await startBulk(operator(), request);
    const newer = await startBulk(operator(), request);
    await database.pool.query('select from millrace.run_bulk_batch($1)', [older.id]);
    const bulk = await getBulk(operator(), { id: older.id });
    expect(bulk).toMatchObject({ done: 1, remaining: 3, skippedRuns: [] });
    const endsInMs = (bulk.estimatedEndAt as Date).getTime() - Date.now();
    expect(endsInMs).toBeGreaterThan(2_500);
    expect(endsInMs).toBeLessThan(4_500);
    expect((await listBulk(operator(), {})).map(({ id }) => id)).toEqual([newer.id, older.id]);
    expect(await listBulk(operator(), { limit: 1 })).toHaveLength(1);
  });

  it('refuse bad input and what is not there', async () => {
    expect(await refusal(getBulk(operator(), { id: randomUUID() }))).toMatch(
      /^bulk_action_not_found/,
    );
    expect(await refusal(getBulk(operator(), { id: '1' }))).toMatch(/^invalid_request: id/);
    expect(await refusal(listBulk(operator(), { limit: 0 }))).toMatch(/^invalid_request: limit/);
  });
});

describe('abortBulk', () => {
  it('leaves the rest as it was, with the counts in the audit', async () => {
    await plant(4);
    const { id } = await startBulk(operator(), {
      action: 'retry',
      filter,
      reason: 'x',
      rate: 1,
    });
    await database.pool.query('select from millrace.run_bulk_batch($1)', [id]);
    const counts = { total: 4, done: 1, skipped: 0, remaining: 3 };
    expect(await abortBulk(operator(), { id, reason: 'enough' })).toMatchObject({
      state: 'aborted',
      ...counts,
      estimatedEndAt: null,
    });
    expect((await audit()).at(-1)).toEqual({
      text: `jobs.bulk.aborted done Grace bulk ${id} enough`,
      detail: counts,
    });
    const { rowCount } = await database.pool.query('select from millrace.run_bulk_batch($1)', [id]);
    expect(rowCount).toBe(0);
    expect(await database.db.run.count({ where: { state: 'failed' } })).toBe(3);
    expect(await database.db.bulkItem.count()).toBe(0);
    expect(await refusal(abortBulk(operator(), { id }))).toBe(
      'invalid_job_state: The bulk action is over; it is aborted.',
    );
  });

  it('refuses bad input and what is not there', async () => {
    expect(await refusal(abortBulk(operator(), { id: randomUUID() }))).toMatch(
      /^bulk_action_not_found/,
    );
    expect(await refusal(abortBulk(operator(), { id: '1' }))).toMatch(/^invalid_request: id/);
  });
});

describe('a viewer', () => {
  it('is denied every verb, which is audited', async () => {
    await plant(1);
    const target = { action: 'retry' as const, filter };
    const { id } = await startBulk(operator(), { ...target, reason: 'x' });
    const denied = await Promise.all(
      [
        () => previewBulk(viewer(), target),
        () => startBulk(viewer(), { ...target, reason: 'x' }),
        () => getBulk(viewer(), { id }),
        () => listBulk(viewer(), {}),
        () => abortBulk(viewer(), { id }),
      ].map((call) => refusal(call())),
    );
    expect(new Set(denied)).toEqual(
      new Set(['forbidden: This needs the permission ops.jobs.run.']),
    );
    const texts = (await audit()).map(({ text }) => text).filter((text) => text.includes('denied'));
    expect(texts.sort()).toEqual([
      `bulk.abort denied Vera bulk ${id}`,
      `bulk.get denied Vera bulk ${id}`,
      'bulk.list denied Vera verb bulk.list',
      'bulk.preview denied Vera verb bulk.preview',
      'bulk.start denied Vera verb bulk.start',
    ]);
    expect(await getBulk(operator(), { id })).toMatchObject({ state: 'running', done: 0 });
  });
});
