import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { findDefinition } from '../definitions/change-definition.ts';
import { definitionName, instant, reason } from '../definitions/config-patch.ts';
import { startByHand } from '../definitions/start-by-hand.ts';
import { defineWrite } from '../verb.ts';
import { findSlot, type SlotRow } from './sql/slots.ts';

/**
 * Starts a run for a slot that came: with that slot, triggered by a person; the ledger stays as it is. By
 * the definition's `overlap` it may join the run that waits. Throws `slot_not_found` for a slot that is
 * not in the ledger, and what {@link startByHand} throws.
 */
export const catchUpSlot = defineWrite({
  name: 'schedules.catch_up',
  permission: 'ops.jobs.run',
  input: z.strictObject({ name: definitionName, slot: instant, reason: reason.optional() }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  async write(scope, { name, slot, reason: why }) {
    const definition = findDefinition(scope, name);
    const { rows } = await scope.tx.query<SlotRow>({ ...findSlot, values: [name, slot] });
    if (!rows[0]) {
      const when = slot.toISOString();
      throw new JobError('slot_not_found', `No slot of ${name} came at ${when}.`);
    }
    const started = await startByHand(scope, definition, slot);
    return {
      output: started,
      audit: {
        action: 'jobs.slot.caught_up',
        subject: { kind: 'definition', id: name },
        reason: why ?? null,
        detail: { slot: slot.toISOString(), ...started },
      },
    };
  },
});
