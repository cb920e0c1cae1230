import { z } from 'zod';

import { NO_OVERRIDE } from '../../contract/override.ts';
import { defineRead } from '../verb.ts';
import { currentOverride, findDefinition } from './change-definition.ts';
import { configPatch, definitionName } from './config-patch.ts';
import { decideChange } from './decide-change.ts';
import { nextSlots } from './definition-view.ts';
import { countWaiting } from './sql/definition-facts.ts';

const SLOTS = 10;

/** What a patch would do, without doing it: fields, next slots before and after, what it leaves alone. */
export const previewChange = defineRead({
  name: 'definitions.preview',
  permission: 'ops.jobs.read',
  invalid: 'invalid_job_config',
  input: z.strictObject({ name: definitionName, patch: configPatch }),
  async read(scope, { name, patch }) {
    const definition = findDefinition(scope, name);
    const row = await currentOverride(scope, name);
    const change = decideChange(definition, row ?? NO_OVERRIDE, patch);
    const { rows } = await scope.tx.query<{ now: Date; waiting: number }>({
      ...countWaiting,
      values: [name],
    });
    const { now, waiting } = rows[0] ?? { now: new Date(), waiting: 0 };
    return {
      version: row?.version ?? 0,
      before: change.before,
      after: change.after,
      changed: change.changed,
      needsReason: change.needsReason,
      slotsBefore: nextSlots(change.before, now, SLOTS),
      slotsAfter: nextSlots(change.after, now, SLOTS),
      /** Runs that wait with the queue, priority and attempts that they were enqueued with; up to 1,001. */
      waitingRuns: waiting,
    };
  },
});
