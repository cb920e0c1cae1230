import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { retryRun as statement } from './sql/retry-run.ts';

/**
 * Opens a failed or cancelled run again, with one more attempt; a scheduler that waits for it sees it
 * undone until it ends again. Throws `job_not_found`, `invalid_job_state` for a run in another state or
 * of an inline definition, and `arguments_erased`.
 */
export const retryRun = defineWrite({
  name: 'runs.retry',
  permission: 'ops.jobs.run',
  input: z.strictObject({ id: z.uuid(), reason: reason.optional() }),
  subject: ({ id }) => ({ kind: 'run', id }),
  async write({ tx }, { id, reason: why }) {
    const { rows } = await tx.query<{ found: string }>({ ...statement, values: [id] });
    const found = rows[0]?.found;
    if (found === 'unknown') throw new JobError('job_not_found', `There is no run ${id}.`);
    if (found === 'erased') {
      throw new JobError('arguments_erased', 'The arguments of the run have been erased.');
    }
    if (found === 'duplicate') {
      throw new JobError(
        'invalid_job_state',
        'Another run with its dedupe key is not finished; it does this work.',
        { details: { state: found } },
      );
    }
    if (found !== 'retried') {
      throw new JobError(
        'invalid_job_state',
        `Only a failed or cancelled run of a queue can be retried; this one is ${found}.`,
        { details: { state: found } },
      );
    }
    return {
      output: { id, status: 'queued' as const },
      audit: {
        action: 'jobs.run.retried',
        subject: { kind: 'run', id },
        reason: why ?? null,
      },
    };
  },
});
