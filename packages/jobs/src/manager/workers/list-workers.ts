import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { listWorkers as statement, type WorkerRow } from './sql/workers.ts';

/** The worker processes that hold their lease, the oldest first. */
export const listWorkers = defineRead({
  name: 'workers.list',
  permission: 'ops.jobs.read',
  input: z.strictObject({}).default({}),
  async read({ tx }) {
    const { rows } = await tx.query<WorkerRow>(statement);
    return rows;
  },
});
