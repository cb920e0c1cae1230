import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

/** create_tickets writes graphile-worker's table itself: what it writes must be what add_jobs would. */
const VOLATILE = new Set(['id', 'created_at', 'updated_at']);
const RUN = '01900000-0000-7000-8000-000000000001';

describe('create_tickets', () => {
  const database = useDatabase();

  async function newest(): Promise<Record<string, unknown>> {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      'select * from gw_batch._private_jobs order by id desc limit 1',
    );
    return Object.fromEntries(
      Object.entries(rows[0] ?? {}).filter(([column]) => !VOLATILE.has(column)),
    );
  }

  async function createTicket(priority: number): Promise<string> {
    const { rows } = await database.pool.query<{ ticket: string }>(
      `select ticket from millrace.create_tickets('batch', array[$1::uuid], array['2031-02-03 04:05:06.007+00'::timestamptz],
                                                  array[$2::smallint])`,
      [RUN, priority],
    );
    return rows[0]?.ticket ?? '';
  }

  it('writes what add_jobs writes, whether the task is known yet or not', async () => {
    await database.pool.query('delete from gw_batch._private_tasks');
    const first = await createTicket(-7);
    const byAddJobs = await newest();
    const second = await createTicket(-7);

    expect(await newest()).toEqual(byAddJobs);
    expect(byAddJobs).toMatchObject({
      payload: { runId: RUN },
      priority: -7,
      max_attempts: 32_000,
    });
    expect(Number(second)).toBeGreaterThan(Number(first));
  });

  it('wakes the workers of the queue as add_jobs does', async () => {
    const client = await database.pool.connect();
    const payloads: string[] = [];
    client.on('notification', ({ payload }) => payloads.push(payload ?? ''));
    try {
      await client.query('listen "jobs:insert"');
      await createTicket(0); // makes the task known where it is not
      await createTicket(0);
      await createTicket(0);
      await client.query('select 1');
      expect(payloads.map((payload) => Object.keys(JSON.parse(payload) as object))).toEqual([
        ['r', 'count'],
        ['r', 'count'],
        ['r', 'count'],
      ]);
    } finally {
      client.release(true);
    }
  });
});
