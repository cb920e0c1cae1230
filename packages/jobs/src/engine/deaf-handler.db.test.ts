import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { deaf, slow } from '../testing/test-jobs.ts';
import { until } from '../testing/until.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { cancelRun } from './cancel-run.ts';
import { createJobClient } from './enqueue-run.ts';

const database = useDatabase();
const start = useWorkers(database);
const count = (state: string) => database.db.run.count({ where: { state } });

describe('handlers that ignore their signal', () => {
  it('do not make their worker claim what it cannot execute', async () => {
    const client = createJobClient({ pool: database.pool });
    const definition = { ...deaf, queue: 'batch' };
    const runs = await client.enqueueMany([1, 2].map(() => ({ definition, args: {} })));
    const { calls } = await start({ queues: ['batch'] });
    await until('both run', () => calls.length === 2);
    await Promise.all(runs.map(({ runId }) => cancelRun(database.pool, runId)));
    await until('both have ended without it', async () => (await count('cancelled')) === 2);

    const { runId } = await client.enqueue({ ...slow, queue: 'batch' }, {});
    const other = await start({ queues: ['batch'] });
    await until('another worker executes it', () => other.calls.length === 1);
    expect(other.calls[0]?.runId).toBe(runId);
    expect(calls).toHaveLength(2);
    other.calls[0]?.release();
    await until('it is over', async () => (await count('succeeded')) === 1);
  });
});
