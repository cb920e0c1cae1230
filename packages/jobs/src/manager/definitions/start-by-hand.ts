import type { AnyDefinition } from '../../contract/definition.ts';
import { JobError } from '../../contract/errors.ts';
import { storedArgs } from '../../engine/enqueue-run.ts';
import { definitionDisabled } from '../../engine/scheduler/trigger-job.ts';
import type { VerbScope } from '../verb.ts';
import { runNow as statement, type RunNowRow } from './sql/run-now.ts';

/** A run that a person asked for: a new one, the one that waits (joined), or the live one (skipped). */
export interface StartedByHand {
  readonly runId: string;
  readonly verdict: 'started' | 'joined' | 'skipped';
}

/**
 * Starts a run with the arguments that the definition makes for triggers without any. Throws
 * `job_definition_disabled`, and `invalid_job_state` for inline definitions: their scheduler waits for
 * the answer.
 */
export async function startByHand(
  { tx, actor, requestId }: VerbScope,
  definition: AnyDefinition,
  slot: Date | null,
): Promise<StartedByHand> {
  const { name } = definition;
  if (definition.form === 'inline') {
    throw new JobError('invalid_job_state', `${name} is inline: only its scheduler can start it.`);
  }
  const { kind, id, label, orgId } = actor;
  const request = {
    definition: name,
    args: storedArgs(definition, definition.newArgs?.({ slot }) ?? {}),
    queue: definition.queue,
    priority: definition.priority,
    maxAttempts: definition.maxAttempts,
    overlap: definition.overlap,
    enabled: definition.enabled,
    slot,
    context: { requestId, actor: { kind, id, label, orgId } },
  };
  const { rows } = await tx.query<RunNowRow>({ ...statement, values: [JSON.stringify(request)] });
  const row = rows[0];
  if (!row || row.verdict === 'disabled' || row.run_id === null) throw definitionDisabled(name);
  return { runId: row.run_id, verdict: row.verdict };
}
