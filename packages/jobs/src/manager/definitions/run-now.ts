import { z } from 'zod';

import { defineWrite } from '../verb.ts';
import { findDefinition } from './change-definition.ts';
import { definitionName, reason } from './config-patch.ts';
import { startByHand } from './start-by-hand.ts';

/**
 * Starts a run with the definition's own arguments. By its `overlap` it may join the run that waits, or
 * start nothing beside one that is live. Throws what {@link startByHand} throws.
 */
export const runNow = defineWrite({
  name: 'definitions.run_now',
  permission: 'ops.jobs.run',
  input: z.strictObject({ name: definitionName, reason: reason.optional() }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  async write(scope, { name, reason: why }) {
    const started = await startByHand(scope, findDefinition(scope, name), null);
    return {
      output: started,
      audit: {
        action: 'jobs.definition.run_requested',
        subject: { kind: 'definition', id: name },
        reason: why ?? null,
        detail: { ...started },
      },
    };
  },
});
