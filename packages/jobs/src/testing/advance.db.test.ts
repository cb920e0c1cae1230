import { useDatabase } from '@millrace/db/testing';
import { beforeAll, describe, expect, it } from 'vitest';

import { createJobClient, type JobClient } from '../engine/enqueue-run.ts';
import { advance } from './advance.ts';
import { drain } from './drain.ts';
import { createTestRegistry } from './test-handlers.ts';
import { flaky, ok } from './test-jobs.ts';

const database = useDatabase();
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});
const { registry } = createTestRegistry();
const MINUTE_MS = 60_000;
const slowToRetry = Object.freeze({
  ...flaky,
  retry: { firstDelayMs: MINUTE_MS, factor: 2, maxDelayMs: 10 * MINUTE_MS, jitter: 0 },
});
const withRetry = createTestRegistry({ only: [slowToRetry] }).registry;

describe('advance', () => {
  it('moves nothing where nothing waits for later', async () => {
    await client.enqueue(ok, {});
    expect(await advance(database, '1h')).toEqual({ moved: 0, due: 0 });
  });

  it('makes due what is due within the duration, and brings the rest nearer', async () => {
    await client.enqueue(ok, { note: 'soon' }, { delayMs: 4 * MINUTE_MS });
    await client.enqueue(ok, { note: 'later' }, { delayMs: 8 * MINUTE_MS });

    expect(await advance(database, '5m')).toEqual({ moved: 2, due: 1 });
    expect(await drain(database, registry)).toMatchObject({ succeeded: 1, waiting: 1 });
    expect(await advance(database, '5m')).toEqual({ moved: 1, due: 1 });
    expect(await drain(database, registry)).toMatchObject({ succeeded: 1, waiting: 0 });
  });

  it('moves a run and its ticket together, in every queue', async () => {
    for (const queue of ['default', 'batch', 'mail']) {
      await client.enqueue(Object.freeze({ ...ok, queue }), {}, { delayMs: 10 * MINUTE_MS });
    }
    await advance(database, '3m');
    for (const queue of ['default', 'batch', 'mail']) {
      const { rows } = await database.pool.query<{ same: boolean; minutes: number }>(
        `select j.run_at = r.run_at as same,
                round(extract(epoch from r.run_at - now()) / 60)::integer as minutes
           from millrace.runs r join gw_${queue}._private_jobs j on j.id = r.ticket
          where r.queue = $1`,
        [queue],
      );
      expect(rows).toEqual([{ same: true, minutes: 7 }]);
    }
  });

  it('lets retries come', async () => {
    await client.enqueue(slowToRetry, { failures: 2 });
    expect(await drain(database, withRetry)).toMatchObject({ executions: 1, retrying: 1 });
    await advance(database, '1m');
    expect(await drain(database, withRetry)).toMatchObject({ executions: 1, retrying: 1 });
    await advance(database, '1m'); // of the two that it waits now
    expect(await drain(database, withRetry)).toMatchObject({ executions: 0, waiting: 1 });
    await advance(database, '1m');
    expect(await drain(database, withRetry)).toMatchObject({ executions: 1, succeeded: 1 });
  });
});
