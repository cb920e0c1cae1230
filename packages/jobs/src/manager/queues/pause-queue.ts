import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { instant, reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { queueName, queueNotFound } from './list-queues.ts';
import { lockQueue, pauseQueue as statement } from './sql/queues.ts';

/**
 * Holds a queue back: work is accepted and waits, no execution starts on any worker after 2 s, across
 * restarts and deploys, until it is resumed or the end time comes. Pausing a paused queue replaces reason
 * and end. Throws `queue_not_found`, and `invalid_request` for an end that is not to come.
 */
export const pauseQueue = defineWrite({
  name: 'queues.pause',
  permission: 'ops.jobs.write',
  input: z.strictObject({ name: queueName, reason, until: instant.optional() }),
  subject: ({ name }) => ({ kind: 'queue', id: name }),
  async write({ tx, actor }, { name, reason: why, until }) {
    const { rows: found } = await tx.query<{ paused: boolean }>({ ...lockQueue, values: [name] });
    if (!found[0]) throw queueNotFound(name);
    if (until && until.getTime() <= Date.now()) {
      throw new JobError('invalid_request', 'until: the end of the pause must be still to come.');
    }
    const { rows } = await tx.query<{ pausedAt: Date }>({
      ...statement,
      values: [name, until ?? null, why, actor.label],
    });
    return {
      output: { name, paused: true, pausedAt: rows[0]?.pausedAt, pausedUntil: until ?? null },
      audit: {
        action: 'jobs.queue.paused',
        subject: { kind: 'queue', id: name },
        reason: why,
        detail: { until: until?.toISOString() ?? null },
      },
    };
  },
});
