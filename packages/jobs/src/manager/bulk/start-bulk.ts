import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { BULK_LIMIT, bulkTarget, checkTarget, statesOf, storedStatesOf } from './bulk-request.ts';
import { readBulk } from './get-bulk.ts';
import { orTooSlow } from './or-too-slow.ts';
import { insertBulk, setBulkTotal } from './sql/bulk-actions.ts';
import { selectItems } from './sql/matching-runs.ts';

/**
 * Starts to retry or cancel the runs that match now, `rate` of them per second (100 unless given); the
 * workers do it. Each of them is treated once; one that is not as it was when its turn comes is skipped.
 * Throws `invalid_request`, also for more than {@link BULK_LIMIT} runs.
 */
export const startBulk = defineWrite({
  name: 'bulk.start',
  permission: 'ops.jobs.run',
  input: bulkTarget
    .extend({ reason, rate: z.int().min(1).max(1_000).default(100) })
    .superRefine(checkTarget),
  async write({ tx, actor, requestId }, target) {
    const { action, filter, rate, reason: why } = target;
    const { rows } = await tx.query<{ id: string }>({
      ...insertBulk,
      values: [
        action,
        JSON.stringify(filter),
        storedStatesOf(target),
        why,
        rate,
        actor.kind,
        actor.id,
        actor.label,
        requestId,
      ],
    });
    const id = (rows[0] as { id: string }).id;
    const items = selectItems(id, filter, statesOf(target), BULK_LIMIT + 1);
    const { rowCount } = await orTooSlow(tx.query(items.text, [...items.values]));
    const total = rowCount ?? 0;
    if (total > BULK_LIMIT) {
      throw new JobError(
        'invalid_request',
        `filter: more than ${BULK_LIMIT} runs match; narrow it, for example by time.`,
        { details: { limit: BULK_LIMIT } },
      );
    }
    await tx.query({ ...setBulkTotal, values: [id, total] });
    return {
      output: await readBulk(tx, id),
      audit: {
        action: 'jobs.bulk.started',
        subject: { kind: 'bulk', id },
        reason: why,
        detail: { action, filter, rate, total },
      },
    };
  },
});
