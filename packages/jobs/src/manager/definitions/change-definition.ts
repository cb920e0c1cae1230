import type { AnyDefinition } from '../../contract/definition.ts';
import { JobError } from '../../contract/errors.ts';
import { CONFIG_FIELDS, type ConfigOverride, NO_OVERRIDE } from '../../contract/override.ts';
import type { VerbScope, Written } from '../verb.ts';
import type { ConfigPatch } from './config-patch.ts';
import { decideChange, type DecidedChange } from './decide-change.ts';
import type { DefinitionConfig } from './definition-view.ts';
import { toConfig } from './definition-view.ts';
import {
  isQueueActive,
  lockDefinition,
  type OverrideRow,
  readOverride,
  writeChange,
  writeOverride,
} from './sql/override.ts';

/** Throws `job_definition_not_found`. */
export function findDefinition({ registry }: VerbScope, name: string): AnyDefinition {
  const definition = registry.definitions.get(name);
  if (!definition) {
    throw new JobError('job_definition_not_found', `There is no job definition named "${name}".`);
  }
  return definition;
}

interface ChangeRequest {
  readonly name: string;
  /** The version that the person saw. */
  readonly version: number;
  readonly reason?: string | undefined;
  readonly patch: ConfigPatch;
  /** What it is for the audit, beside the change itself. */
  readonly kind: 'update' | 'reset' | 'restore';
}

/**
 * The one way by which an override changes: version check, rules, override, history, notification, and
 * what the audit says. Nothing is written when nothing changes. Throws `job_definition_version_conflict`,
 * `job_reason_required`, `invalid_job_config` and `queue_not_active`.
 */
export async function changeDefinition(
  scope: VerbScope,
  { name, version, reason, patch, kind }: ChangeRequest,
): Promise<Written<DefinitionConfig>> {
  const definition = findDefinition(scope, name);
  await scope.tx.query(lockDefinition, [name]);
  const row = await currentOverride(scope, name);
  refuseOldVersion(name, version, row);
  const current = row ?? NO_OVERRIDE;
  const change = decideChange(definition, current, patch);
  if (change.changed.length === 0) {
    return { output: toConfig(definition, row), audit: null };
  }
  if (change.needsReason && !reason) {
    throw new JobError('job_reason_required', `Say why: ${change.needsReason}.`);
  }
  await refuseIdleQueue(scope, change);

  const next = (row?.version ?? 0) + 1;
  const values = CONFIG_FIELDS.map((field) => change.override[field]);
  await scope.tx.query({
    ...writeOverride,
    values: [name, ...values, next, scope.actor.label],
  });
  const before = overridden(current);
  const after = overridden(change.override);
  const { kind: actorKind, id, label } = scope.actor;
  await scope.tx.query({
    ...writeChange,
    values: [name, next, before, after, reason ?? null, actorKind, id, label, scope.requestId],
  });
  return {
    output: toConfig(definition, (await currentOverride(scope, name)) ?? null),
    audit: {
      action: 'jobs.definition.changed',
      subject: { kind: 'definition', id: name },
      reason: reason ?? null,
      detail: { version: next, kind, before, after },
    },
  };
}

export async function currentOverride(
  { tx }: VerbScope,
  name: string,
): Promise<OverrideRow | null> {
  const { rows } = await tx.query<OverrideRow>({ ...readOverride, values: [name] });
  return rows[0] ?? null;
}

/** Only the fields that deviate from the code. */
function overridden(override: ConfigOverride): Partial<ConfigOverride> {
  return Object.fromEntries(
    CONFIG_FIELDS.filter((field) => override[field] !== null).map((field) => [
      field,
      override[field],
    ]),
  );
}

function refuseOldVersion(name: string, seen: number, row: OverrideRow | null): void {
  const version = row?.version ?? 0;
  if (seen === version) return;
  const who = row ? ` by ${row.updatedBy}` : '';
  throw new JobError(
    'job_definition_version_conflict',
    `${name} is at version ${version}, changed${who}; you saw version ${seen}.`,
    { details: { version, updatedBy: row?.updatedBy ?? null, updatedAt: row?.updatedAt ?? null } },
  );
}

async function refuseIdleQueue(
  { tx }: VerbScope,
  { changed, after }: DecidedChange,
): Promise<void> {
  if (!changed.includes('queue')) return;
  const { rows } = await tx.query<{ active: boolean }>({ ...isQueueActive, values: [after.queue] });
  if (rows[0]?.active) return;
  throw new JobError(
    'queue_not_active',
    `queue: no live worker runs "${after.queue}"; runs would wait there for ever.`,
  );
}
