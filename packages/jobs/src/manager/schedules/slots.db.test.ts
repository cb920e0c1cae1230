import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { managerContext, nightly } from '../../testing/manager-context.ts';
import { updateDefinition } from '../definitions/update-definition.ts';
import { catchUpSlot } from './catch-up-slot.ts';
import { listSlots } from './list-slots.ts';
import { skipSlot } from './skip-slot.ts';

const database = useDatabase();
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');
const { name } = nightly;
const slot = new Date('2030-01-01T02:00:00Z');

async function miss(): Promise<void> {
  await database.pool.query(
    `insert into millrace.slots (definition, slot, skipped) values ($1, $2, 'missed'), ($1, $3, 'disabled')`,
    [name, slot, new Date('2029-12-31T02:00:00Z')],
  );
}

async function actions(): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(
    `select concat_ws(' ', action, outcome, subject, reason, detail ->> 'slot') as text
       from millrace.audit_events order by id`,
  );
  return rows.map(({ text }) => text);
}

describe('listSlots', () => {
  it('shows what became of slots, the latest first, and those to come', async () => {
    await miss();
    const page = await listSlots(viewer(), { name, limit: 1 });
    expect(page.past).toMatchObject([{ slot, skipped: 'missed', runId: null, state: null }]);
    expect(page.next).toHaveLength(1);
    const older = await listSlots(viewer(), { name, limit: 1, before: page.before });
    expect(older).toMatchObject({ past: [{ skipped: 'disabled' }], before: null });
    await expect(listSlots(viewer(), { name: 'test.unknown' })).rejects.toMatchObject({
      code: 'job_definition_not_found',
    });
  });
});

describe('catchUpSlot', () => {
  it('runs the slot by hand and leaves the ledger as it is', async () => {
    await miss();
    const { runId, verdict } = await catchUpSlot(operator(), { name, slot, reason: 'needed' });
    expect(verdict).toBe('started');
    expect(await database.db.run.findUniqueOrThrow({ where: { id: runId } })).toMatchObject({
      trigger: 'manual',
      slot,
    });
    expect((await listSlots(viewer(), { name })).past[0]).toMatchObject({ skipped: 'missed' });
    expect(await actions()).toEqual([
      `jobs.slot.caught_up done ${name} needed 2030-01-01T02:00:00.000Z`,
    ]);
  });

  it('refuses a slot that did not come, a disabled definition, and a viewer', async () => {
    const missing = catchUpSlot(operator(), { name, slot });
    await expect(missing).rejects.toMatchObject({ code: 'slot_not_found' });
    await miss();
    const off = { name, version: 0, reason: 'x', patch: { enabled: false } };
    await updateDefinition(operator(), off);
    await expect(catchUpSlot(operator(), { name, slot })).rejects.toMatchObject({
      code: 'job_definition_disabled',
    });
    await expect(catchUpSlot(viewer(), { name, slot })).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect((await actions()).slice(1)).toEqual([`schedules.catch_up denied ${name}`]);
  });
});

describe('skipSlot', () => {
  it('decides a slot to come, once', async () => {
    const { next } = await listSlots(viewer(), { name, limit: 2 });
    const upcoming = next[1] as Date;
    await skipSlot(operator(), { name, slot: upcoming, reason: 'holiday' });
    await skipSlot(operator(), { name, slot: upcoming, reason: 'holiday' });
    expect((await listSlots(viewer(), { name })).past).toMatchObject([
      { slot: upcoming, skipped: 'by_operator' },
    ]);
    expect(await actions()).toEqual([
      `jobs.slot.skipped done ${name} holiday ${upcoming.toISOString()}`,
    ]);
  });

  it('refuses what is no slot to come, and a viewer', async () => {
    const past = skipSlot(operator(), {
      name,
      slot: new Date('2020-01-01T02:00:00Z'),
      reason: 'x',
    });
    await expect(past).rejects.toMatchObject({ code: 'slot_not_found' });
    const none = skipSlot(operator(), {
      name,
      slot: new Date('2031-01-01T12:34:00Z'),
      reason: 'x',
    });
    await expect(none).rejects.toMatchObject({ code: 'slot_not_found' });
    await expect(skipSlot(viewer(), { name, slot, reason: 'x' })).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect(await actions()).toEqual([`schedules.skip denied ${name}`]);
  });
});
