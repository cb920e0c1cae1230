import { z } from 'zod';

import type { AuditEntry } from '../../contract/audit.ts';
import { defineWrite } from '../verb.ts';
import { changeDefinition } from './change-definition.ts';
import { definitionName, reason } from './config-patch.ts';
import type { DefinitionConfig } from './definition-view.ts';

/** Enables or disables several definitions: all of them or, on an error, none. */
export const bulkUpdateDefinitions = defineWrite({
  name: 'definitions.bulk_update',
  permission: 'ops.jobs.write',
  invalid: 'invalid_job_config',
  input: z.strictObject({
    definitions: z
      .array(z.strictObject({ name: definitionName, version: z.int().min(0) }))
      .min(1)
      .max(500),
    enabled: z.boolean(),
    reason: reason.optional(),
  }),
  async write(scope, { definitions, enabled, reason: why }) {
    const output: DefinitionConfig[] = [];
    const audit: AuditEntry[] = [];
    // By name, as every such call: two of them wait for each other instead of deadlocking.
    for (const { name, version } of definitions.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const written = await changeDefinition(scope, {
        name,
        version,
        reason: why,
        patch: { enabled },
        kind: 'update',
      });
      output.push(written.output);
      if (written.audit) audit.push(...[written.audit].flat());
    }
    return { output, audit };
  },
});
