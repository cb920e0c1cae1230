import { z } from 'zod';

import { NO_OVERRIDE } from '../../contract/override.ts';
import { defineWrite } from '../verb.ts';
import { changeDefinition } from './change-definition.ts';
import { definitionName, reason } from './config-patch.ts';

/** Goes back to what the code says, as a new version; see {@link changeDefinition}. */
export const resetDefinition = defineWrite({
  name: 'definitions.reset',
  permission: 'ops.jobs.write',
  invalid: 'invalid_job_config',
  input: z.strictObject({
    name: definitionName,
    version: z.int().min(0),
    reason: reason.optional(),
  }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  write: (scope, input) =>
    changeDefinition(scope, { ...input, patch: { ...NO_OVERRIDE }, kind: 'reset' }),
});
