import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { defineRead } from '../verb.ts';
import { type QueueHealth, queueHealth } from './queue-health.ts';
import { listQueues as statement, type QueueRow } from './sql/queues.ts';

/** A queue as operators see it. Counts end at {@link COUNT_LIMIT}: "1000+" says as much. */
export interface QueueView extends QueueRow {
  readonly health: QueueHealth;
  /** Whether there is more than was counted. */
  readonly more: boolean;
}

const COUNT_LIMIT = 1_000;
export const queueName = z.string().min(1).max(60);

/** Every queue with its depth, oldest wait, capacity and health word. */
export const listQueues = defineRead({
  name: 'queues.list',
  permission: 'ops.jobs.read',
  input: z.strictObject({}).default({}),
  async read({ tx }) {
    const { rows } = await tx.query<QueueRow>({ ...statement, values: [null, COUNT_LIMIT + 1] });
    return rows.map(toQueueView);
  },
});

/** One queue. Throws `queue_not_found`. */
export const getQueue = defineRead({
  name: 'queues.get',
  permission: 'ops.jobs.read',
  input: z.strictObject({ name: queueName }),
  async read({ tx }, { name }) {
    const { rows } = await tx.query<QueueRow>({ ...statement, values: [name, COUNT_LIMIT + 1] });
    if (!rows[0]) throw queueNotFound(name);
    return toQueueView(rows[0]);
  },
});

export function queueNotFound(name: string): JobError {
  return new JobError('queue_not_found', `There is no queue named "${name}".`);
}

function toQueueView(row: QueueRow): QueueView {
  return { ...row, health: queueHealth(row), more: row.waiting + row.running > COUNT_LIMIT };
}
