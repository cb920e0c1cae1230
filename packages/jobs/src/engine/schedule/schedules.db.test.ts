import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../../authoring/define-job.ts';
import type { JobDefinition } from '../../contract/definition.ts';
import { updateDefinition } from '../../manager/definitions/update-definition.ts';
import { createRegistry } from '../../registry/create-registry.ts';
import { managerContext } from '../../testing/manager-context.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';

const database = useDatabase();
const start = useWorkers(database);

const common = { description: 'x', args: z.object({}) } as const;
const all = { missed: 1_000, overlap: 'allow' } as const;
const jobs = {
  minutely: defineJob({ ...common, ...all, name: 'test.minutely', schedule: '* * * * *' }),
  every: defineJob({ ...common, ...all, name: 'test.every', schedule: '@every 1m' }),
  nightly: defineJob({
    ...common,
    name: 'test.nightly',
    schedule: '30 2 * * *',
    timezone: 'Europe/Berlin',
  }),
  skipping: defineJob({
    ...common,
    name: 'test.skipping',
    schedule: '*/10 * * * *',
    missed: 'skip',
  }),
  once: defineJob({ ...common, name: 'test.once', schedule: '*/10 * * * *' }),
  three: defineJob({ ...common, ...all, name: 'test.three', schedule: '*/10 * * * *', missed: 3 }),
};
type Jobs = Partial<Record<keyof typeof jobs, JobDefinition>>;

/** Starts a worker with these jobs, whose handlers do nothing, or nothing until the end of the test. */
function work(definitions: Jobs, held = false) {
  const list = Object.values(definitions);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const handler = () => (held ? promise : Promise.resolve());
  const registry = createRegistry({
    definitions: list,
    queues: { default: { concurrency: 10, prefetch: 0 } },
    handlers: Object.fromEntries(list.map(({ name }) => [name, () => Promise.resolve(handler)])),
  });
  return start({ jobs: { registry, calls: [], releaseAll: () => resolve(undefined) } });
}

/** Lets the clock of the slots show another time, and run at another speed from there. */
async function setClock(shown: string | Date, speed: number): Promise<void> {
  await database.pool.query(
    `insert into millrace.clock (real_since, shown_since, speed) values (clock_timestamp(), $1, $2)
     on conflict (singleton) do update set real_since = excluded.real_since, shown_since = excluded.shown_since,
       speed = excluded.speed`,
    [shown, speed],
  );
}
const STANDSTILL = 0.000_001;

async function shownTime(): Promise<Date> {
  const { rows } = await database.pool.query<{ now: Date }>('select millrace.clock_now() as now');
  return rows[0]?.now ?? new Date(0);
}

/** Waits until no slot is due, and answers the ledger of a definition. */
async function ledger({ name }: JobDefinition) {
  await until('every slot that has come is decided', async () => {
    const { rows } = await database.pool.query<{ done: boolean }>(
      `select bool_and(next_slot > millrace.clock_now()) as done from millrace.schedules`,
    );
    return rows[0]?.done === true;
  });
  return database.db.slot.findMany({ where: { definition: name }, orderBy: { slot: 'asc' } });
}
const time = ({ slot }: { slot: Date }): string => slot.toISOString().slice(0, 16);

async function nextSlot({ name }: JobDefinition): Promise<Date> {
  return until(`${name} has a next slot`, async () => {
    const row = await database.db.schedule.findUnique({ where: { definition: name } });
    return row?.nextSlot;
  });
}

describe('schedules', () => {
  it(
    'give each slot one row and one run, over three workers that come and go',
    { timeout: 60_000 },
    async () => {
      const { minutely, every } = jobs;
      await setClock('2030-01-01T00:00:30Z', 600);
      const first = await work({ minutely, every });
      await work({ minutely, every });
      const from = [await nextSlot(minutely), await nextSlot(every)];
      await work({ minutely, every });
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await first.worker.stop();
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await work({ minutely, every });
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      const end = await shownTime();
      await setClock(end, STANDSTILL);

      for (const [index, definition] of [minutely, every].entries()) {
        const rows = await ledger(definition);
        const began = from[index] ?? new Date(0);
        const seen = rows.filter(({ slot }) => slot >= began && slot <= end);
        const expected = Math.floor((end.getTime() - began.getTime()) / 60_000) + 1;
        expect(seen).toHaveLength(expected);
        expect(rows.filter(({ runId }) => runId === null)).toEqual([]);
        expect(new Set(rows.map(({ runId }) => runId)).size).toBe(rows.length);
        const runs = await database.db.run.findMany({ where: { definition: definition.name } });
        expect(new Set(runs.map(({ slot }) => slot?.getTime())).size).toBe(rows.length);
        expect(runs).toHaveLength(rows.length);
      }
    },
  );

  it('do what each policy says after three hours in which nothing ran', async () => {
    const { skipping, once, three } = jobs;
    await setClock('2030-01-01T00:05:00Z', STANDSTILL);
    const { worker } = await work({ skipping, once, three });
    await nextSlot(three);
    await nextSlot(once);
    await nextSlot(skipping);
    await worker.stop();
    await setClock('2030-01-01T03:05:00Z', STANDSTILL);
    await work({ skipping, once, three });

    const outcome = async (definition: JobDefinition) => {
      const rows = await ledger(definition);
      expect(rows).toHaveLength(18);
      expect(
        rows.filter(({ runId }) => runId === null).every(({ skipped }) => skipped === 'missed'),
      ).toBe(true);
      return rows.filter(({ runId }) => runId !== null).map(time);
    };
    expect(await outcome(skipping)).toEqual([]);
    expect(await outcome(once)).toEqual(['2030-01-01T03:00']);
    expect(await outcome(three)).toEqual([
      '2030-01-01T02:40',
      '2030-01-01T02:50',
      '2030-01-01T03:00',
    ]);
  });

  it('start one run after a month of missed minutes', { timeout: 60_000 }, async () => {
    const minutely = { ...jobs.minutely, missed: 'once' } as const;
    await setClock('2030-01-01T00:00:30Z', STANDSTILL);
    const { worker } = await work({ minutely });
    await nextSlot(minutely);
    await worker.stop();
    await setClock('2030-02-01T00:00:45Z', STANDSTILL);
    await work({ minutely });
    const rows = await until(
      'all are decided',
      async () => {
        const found = await ledger(minutely);
        return found.length === 31 * 1_440 && found;
      },
      50_000,
    );
    expect(rows.filter(({ runId }) => runId !== null).map(time)).toEqual(['2030-02-01T00:00']);
  });

  it('run once on the days on which the clocks change', async () => {
    const { nightly } = jobs;
    await setClock('2030-03-30T00:00:00Z', STANDSTILL);
    await work({ nightly });
    await nextSlot(nightly);
    const days = ['03-30', '03-31', '04-01', '10-26', '10-27', '10-28'];
    for (const day of days) {
      await setClock(`2030-${day}T01:31:00Z`, STANDSTILL);
      await ledger(nightly);
    }
    const found = (await ledger(nightly)).map(time);
    for (const slot of [
      '2030-03-30T01:30',
      '2030-03-31T01:00',
      '2030-04-01T00:30',
      '2030-10-26T00:30',
      '2030-10-27T00:30',
      '2030-10-28T01:30',
    ]) {
      expect(found).toContain(slot);
    }
    expect(found.filter((slot) => slot.startsWith('2030-03-31'))).toHaveLength(1);
    expect(found.filter((slot) => slot.startsWith('2030-10-27'))).toHaveLength(1);
  });

  it('record why nothing ran while disabled, and go on when enabled', async () => {
    const { three } = jobs;
    await setClock('2030-01-01T00:05:00Z', STANDSTILL);
    await work({ three });
    await nextSlot(three);
    const context = {
      ...managerContext(database),
      registry: createRegistry({
        definitions: [three],
        queues: { default: { concurrency: 1, prefetch: 0 } },
      }),
    };
    const change = (version: number, enabled: boolean) =>
      updateDefinition(context, { name: three.name, version, reason: 'x', patch: { enabled } });
    await change(0, false);
    await setClock('2030-01-31T00:05:00Z', STANDSTILL);
    const skipped = await ledger(three);
    expect(skipped).toHaveLength(30 * 144);
    expect(skipped.every((row) => row.skipped === 'disabled')).toBe(true);
    await change(1, true);
    await setClock('2030-01-31T00:10:30Z', STANDSTILL);
    const rows = await ledger(three);
    expect(rows.slice(skipped.length).map(({ runId }) => runId !== null)).toEqual([true]);
  });

  it('follow a change within 2 s, and owe nothing of the old schedule', async () => {
    const { nightly } = jobs;
    await setClock('2030-01-01T00:05:00Z', STANDSTILL);
    await work({ nightly });
    await nextSlot(nightly);
    const context = {
      ...managerContext(database),
      registry: createRegistry({
        definitions: [nightly],
        queues: { default: { concurrency: 1, prefetch: 0 } },
      }),
    };
    const changedAt = Date.now();
    await updateDefinition(context, {
      name: nightly.name,
      version: 0,
      reason: 'x',
      patch: { schedule: '@every 6h' },
    });
    await until('the next slot is of the new schedule', async () => {
      return (await nextSlot(nightly)).toISOString() === '2030-01-01T06:00:00.000Z';
    });
    expect(Date.now() - changedAt).toBeLessThan(2_500);
    await updateDefinition(context, {
      name: nightly.name,
      version: 1,
      reason: 'x',
      patch: { schedule: '' },
    });
    await until('there is none any more', async () => {
      const row = await database.db.schedule.findUnique({ where: { definition: nightly.name } });
      return row?.nextSlot === null;
    });
  });

  it('let a slot join the run that waits, and skip beside one that is live', async () => {
    const joining = { ...jobs.once, name: 'test.joining', missed: 1_000 } as const;
    const skipping = { ...jobs.once, name: 'test.beside', missed: 1_000, overlap: 'skip' } as const;
    await setClock('2030-01-01T00:05:00Z', STANDSTILL);
    await work({ once: joining, skipping }, true);
    await nextSlot(joining);
    await nextSlot(skipping);
    await setClock('2030-01-01T00:40:30Z', STANDSTILL);
    const joined = await ledger(joining);
    expect(joined).toHaveLength(4);
    // Either one waits for all of them, or the first began before the others came.
    expect(new Set(joined.map(({ runId }) => runId)).size).toBeLessThanOrEqual(2);
    const beside = await ledger(skipping);
    expect(beside.map(({ skipped }) => skipped)).toEqual([
      null,
      'still_running',
      'still_running',
      'still_running',
    ]);
  });
});
