import { z } from 'zod';

import { defineWrite } from '../verb.ts';
import { changeDefinition } from './change-definition.ts';
import { configPatch, definitionName, reason } from './config-patch.ts';

/** Changes what holds for a definition; see {@link changeDefinition}. */
export const updateDefinition = defineWrite({
  name: 'definitions.update',
  permission: 'ops.jobs.write',
  invalid: 'invalid_job_config',
  input: z.strictObject({
    name: definitionName,
    version: z.int().min(0),
    reason: reason.optional(),
    patch: configPatch,
  }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  write: (scope, input) => changeDefinition(scope, { ...input, kind: 'update' }),
});
