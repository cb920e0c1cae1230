import { z } from 'zod';

import { currentOverride, findDefinition } from '../definitions/change-definition.ts';
import { definitionName, instant } from '../definitions/config-patch.ts';
import { nextSlots, toConfig } from '../definitions/definition-view.ts';
import { defineRead } from '../verb.ts';
import { listSlots as statement, slotClock, type SlotRow } from './sql/slots.ts';

/** The slots of a definition: those to come, and what became of those that came, the latest first. */
export const listSlots = defineRead({
  name: 'schedules.slots',
  permission: 'ops.jobs.read',
  input: z.strictObject({
    name: definitionName,
    /** Only slots that came before this one. */
    before: instant.optional(),
    limit: z.int().min(1).max(100).default(10),
  }),
  async read(scope, { name, before, limit }) {
    const definition = findDefinition(scope, name);
    const { rows } = await scope.tx.query<SlotRow>({
      ...statement,
      values: [name, before ?? null, limit + 1],
    });
    const { rows: clock } = await scope.tx.query<{ now: Date }>(slotClock);
    const { effective } = toConfig(definition, await currentOverride(scope, name));
    const past = rows.slice(0, limit);
    return {
      next: nextSlots(effective, clock[0]?.now ?? new Date(), limit),
      past,
      before: rows.length > limit ? (past.at(-1)?.slot ?? null) : null,
    };
  },
});
