import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { bulkNotFound, readBulk } from './get-bulk.ts';
import { abortBulk as statement, lockBulk } from './sql/bulk-actions.ts';

/**
 * Ends a bulk action: no further run is touched once this returns, and what it answers is final. What was
 * done stays done. Throws `bulk_action_not_found`, and `invalid_job_state` for one that is over.
 */
export const abortBulk = defineWrite({
  name: 'bulk.abort',
  permission: 'ops.jobs.run',
  input: z.strictObject({ id: z.uuid(), reason: reason.optional() }),
  subject: ({ id }) => ({ kind: 'bulk', id }),
  async write({ tx }, { id, reason: why }) {
    const { rows } = await tx.query<{ state: string }>({ ...lockBulk, values: [id] });
    const state = rows[0]?.state;
    if (state === undefined) throw bulkNotFound(id);
    if (state !== 'running') {
      throw new JobError('invalid_job_state', `The bulk action is over; it is ${state}.`, {
        details: { state },
      });
    }
    await tx.query({ ...statement, values: [id] });
    const output = await readBulk(tx, id);
    const { total, done, skipped, remaining } = output;
    return {
      output,
      audit: {
        action: 'jobs.bulk.aborted',
        subject: { kind: 'bulk', id },
        reason: why ?? null,
        detail: { total, done, skipped, remaining },
      },
    };
  },
});
