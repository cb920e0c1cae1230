import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { NO_OVERRIDE } from '../../contract/override.ts';
import { defineWrite } from '../verb.ts';
import { changeDefinition } from './change-definition.ts';
import { configPatch, definitionName, reason } from './config-patch.ts';
import { type ChangeRow, listChanges } from './sql/override.ts';

/**
 * Makes the configuration what it was at an earlier version (0: what the code says), as a new version.
 * Throws what {@link changeDefinition} throws, and `invalid_job_config` for a version that never was.
 */
export const restoreDefinition = defineWrite({
  name: 'definitions.restore',
  permission: 'ops.jobs.write',
  invalid: 'invalid_job_config',
  input: z.strictObject({
    name: definitionName,
    version: z.int().min(0),
    to: z.int().min(0),
    reason: reason.optional(),
  }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  async write(scope, { to, ...input }) {
    const { rows } = await scope.tx.query<ChangeRow>({
      ...listChanges,
      values: [input.name, to + 1, 1],
    });
    if (to > 0 && rows[0]?.version !== to) {
      throw new JobError('invalid_job_config', `to: ${input.name} never had a version ${to}.`);
    }
    // What was valid then may not be any more.
    const patch = configPatch.parse({ ...NO_OVERRIDE, ...(to > 0 && rows[0]?.after) });
    return changeDefinition(scope, { ...input, patch, kind: 'restore' });
  },
});
