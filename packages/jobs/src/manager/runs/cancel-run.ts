import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { cancelRun as statement } from '../../engine/sql/leases.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';

/**
 * Ends a run: one that waits at once, one that is running as soon as its handler heeds its signal
 * (`requested`). Throws `job_not_found`, and `invalid_job_state` for one that is over.
 */
export const cancelRun = defineWrite({
  name: 'runs.cancel',
  permission: 'ops.jobs.run',
  input: z.strictObject({ id: z.uuid(), reason: reason.optional() }),
  subject: ({ id }) => ({ kind: 'run', id }),
  async write({ tx }, { id, reason: why }) {
    const { rows } = await tx.query<{ found: string }>(statement, [id]);
    const found = rows[0]?.found;
    if (found === 'unknown') throw new JobError('job_not_found', `There is no run ${id}.`);
    if (found !== 'cancelled' && found !== 'requested') {
      throw new JobError('invalid_job_state', 'The run is over; there is nothing to cancel.');
    }
    return {
      output: { id, outcome: found },
      audit: {
        action: 'jobs.run.cancelled',
        subject: { kind: 'run', id },
        reason: why ?? null,
        detail: { outcome: found },
      },
    };
  },
});
