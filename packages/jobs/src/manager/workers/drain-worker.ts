import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { drainWorker as statement } from './sql/workers.ts';

/**
 * Asks a worker to take nothing more and to finish what it runs. It stays registered, idle, until its
 * process is stopped; a process that takes its place begins anew. Throws `worker_not_found`.
 */
export const drainWorker = defineWrite({
  name: 'workers.drain',
  permission: 'ops.jobs.write',
  input: z.strictObject({ id: z.uuid(), reason }),
  subject: ({ id }) => ({ kind: 'worker', id }),
  async write({ tx }, { id, reason: why }) {
    const { rows } = await tx.query<{ host: string; pid: number; changed: boolean }>({
      ...statement,
      values: [id],
    });
    const worker = rows[0];
    if (!worker) throw new JobError('worker_not_found', `There is no live worker ${id}.`);
    return {
      output: { id, draining: true },
      audit: worker.changed
        ? {
            action: 'jobs.worker.drained',
            subject: { kind: 'worker', id },
            reason: why,
            detail: { host: worker.host, pid: worker.pid },
          }
        : null,
    };
  },
});
