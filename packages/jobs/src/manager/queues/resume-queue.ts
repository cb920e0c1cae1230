import { z } from 'zod';

import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { queueName, queueNotFound } from './list-queues.ts';
import { lockQueue, resumeQueue as statement } from './sql/queues.ts';

/** Lets a paused queue go on. Of one that is not paused it changes nothing. Throws `queue_not_found`. */
export const resumeQueue = defineWrite({
  name: 'queues.resume',
  permission: 'ops.jobs.write',
  input: z.strictObject({ name: queueName, reason: reason.optional() }),
  subject: ({ name }) => ({ kind: 'queue', id: name }),
  async write({ tx }, { name, reason: why }) {
    const { rows } = await tx.query<{ paused: boolean }>({ ...lockQueue, values: [name] });
    if (!rows[0]) throw queueNotFound(name);
    const output = { name, paused: false };
    if (!rows[0].paused) return { output, audit: null };
    await tx.query({ ...statement, values: [name] });
    return {
      output,
      audit: {
        action: 'jobs.queue.resumed',
        subject: { kind: 'queue', id: name },
        reason: why ?? null,
      },
    };
  },
});
