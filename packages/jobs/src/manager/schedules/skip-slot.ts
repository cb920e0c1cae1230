import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { currentOverride, findDefinition } from '../definitions/change-definition.ts';
import { definitionName, instant, reason } from '../definitions/config-patch.ts';
import { nextSlots, toConfig } from '../definitions/definition-view.ts';
import { defineWrite } from '../verb.ts';
import { skipSlot as statement, slotClock } from './sql/slots.ts';

/**
 * Decides that nothing runs at a slot that is still to come. Of one that is skipped already it changes
 * nothing. Throws `slot_not_found` where the schedule has no such slot to come.
 */
export const skipSlot = defineWrite({
  name: 'schedules.skip',
  permission: 'ops.jobs.run',
  input: z.strictObject({ name: definitionName, slot: instant, reason }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  async write(scope, { name, slot, reason: why }) {
    const definition = findDefinition(scope, name);
    const { rows: clock } = await scope.tx.query<{ now: Date }>(slotClock);
    const { effective } = toConfig(definition, await currentOverride(scope, name));
    const [found] = nextSlots(effective, new Date(slot.getTime() - 1), 1);
    if (slot <= (clock[0]?.now ?? new Date()) || found?.getTime() !== slot.getTime()) {
      const when = slot.toISOString();
      throw new JobError('slot_not_found', `${name} has no slot to come at ${when}.`);
    }
    const { rows } = await scope.tx.query({ ...statement, values: [name, slot] });
    return {
      output: { name, slot, skipped: 'by_operator' as const },
      audit:
        rows.length === 0
          ? null
          : {
              action: 'jobs.slot.skipped',
              subject: { kind: 'definition', id: name },
              reason: why,
              detail: { slot: slot.toISOString() },
            },
    };
  },
});
