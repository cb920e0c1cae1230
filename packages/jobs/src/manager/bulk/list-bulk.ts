import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { toBulkView } from './bulk-view.ts';
import { type BulkRow, listBulk as statement } from './sql/bulk-actions.ts';

/** The latest bulk actions, the newest first. */
export const listBulk = defineRead({
  name: 'bulk.list',
  permission: 'ops.jobs.run',
  input: z.strictObject({ limit: z.int().min(1).max(100).default(20) }).prefault({}),
  async read({ tx }, { limit }) {
    const { rows } = await tx.query<BulkRow>({ ...statement, values: [limit] });
    return rows.map(toBulkView);
  },
});
