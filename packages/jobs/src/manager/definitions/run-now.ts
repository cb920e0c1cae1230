import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { storedArgs } from '../../engine/enqueue-run.ts';
import { definitionDisabled } from '../../engine/scheduler/trigger-job.ts';
import { defineWrite } from '../verb.ts';
import { findDefinition } from './change-definition.ts';
import { definitionName, reason } from './config-patch.ts';
import { runNow as statement, type RunNowRow } from './sql/run-now.ts';

/**
 * Starts a run with the arguments that the definition makes for triggers without any. By the
 * definition's `overlap` it may join the run that waits, or start nothing beside one that is live. Throws
 * `job_definition_disabled`, and `invalid_job_state` for inline definitions: their scheduler waits for
 * the answer.
 */
export const runNow = defineWrite({
  name: 'definitions.run_now',
  permission: 'ops.jobs.run',
  input: z.strictObject({ name: definitionName, reason: reason.optional() }),
  subject: ({ name }) => ({ kind: 'definition', id: name }),
  async write(scope, { name, reason: why }) {
    const definition = findDefinition(scope, name);
    if (definition.form === 'inline') {
      throw new JobError(
        'invalid_job_state',
        `${name} is inline: only its scheduler can start it.`,
      );
    }
    const { kind, id, label, orgId } = scope.actor;
    const request = {
      definition: name,
      args: storedArgs(definition, definition.newArgs?.({ slot: null }) ?? {}),
      queue: definition.queue,
      priority: definition.priority,
      maxAttempts: definition.maxAttempts,
      overlap: definition.overlap,
      enabled: definition.enabled,
      context: { requestId: scope.requestId, actor: { kind, id, label, orgId } },
    };
    const { rows } = await scope.tx.query<RunNowRow>({
      ...statement,
      values: [JSON.stringify(request)],
    });
    const row = rows[0];
    if (!row || row.verdict === 'disabled' || row.run_id === null) throw definitionDisabled(name);
    return {
      output: { runId: row.run_id, verdict: row.verdict },
      audit: {
        action: 'jobs.definition.run_requested',
        subject: { kind: 'definition', id: name },
        reason: why ?? null,
        detail: { runId: row.run_id, verdict: row.verdict },
      },
    };
  },
});
