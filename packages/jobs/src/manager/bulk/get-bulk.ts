import type pg from 'pg';
import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { defineRead } from '../verb.ts';
import { type BulkView, toBulkView } from './bulk-view.ts';
import { type BulkRow, getBulk as statement, skippedRuns } from './sql/bulk-actions.ts';

export interface SkippedRun {
  readonly id: string;
  readonly code: string;
}

const SHOWN_SKIPPED = 100;

/** A bulk action, its progress and the first {@link SHOWN_SKIPPED} runs that it skipped. */
export const getBulk = defineRead({
  name: 'bulk.get',
  permission: 'ops.jobs.run',
  input: z.strictObject({ id: z.uuid() }),
  subject: ({ id }) => ({ kind: 'bulk', id }),
  async read({ tx }, { id }): Promise<BulkView & { readonly skippedRuns: readonly SkippedRun[] }> {
    const bulk = await readBulk(tx, id);
    const { rows } = await tx.query<SkippedRun>({ ...skippedRuns, values: [id, SHOWN_SKIPPED] });
    return { ...bulk, skippedRuns: rows };
  },
});

/** Throws `bulk_action_not_found`. */
export async function readBulk(tx: pg.PoolClient, id: string): Promise<BulkView> {
  const { rows } = await tx.query<BulkRow>({ ...statement, values: [id] });
  if (!rows[0]) throw bulkNotFound(id);
  return toBulkView(rows[0]);
}

export function bulkNotFound(id: string): JobError {
  return new JobError('bulk_action_not_found', `There is no bulk action ${id}.`);
}
