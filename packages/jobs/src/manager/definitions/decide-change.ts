import type { AnyDefinition } from '../../contract/definition.ts';
import { JobError } from '../../contract/errors.ts';
import {
  type ConfigField,
  CONFIG_FIELDS,
  type ConfigOverride,
  configOf,
  editableFields,
  type EditableConfig,
} from '../../contract/override.ts';
import { effectiveConfig } from '../../engine/effective-config.ts';
import type { ConfigPatch } from './config-patch.ts';

/** What a patch would do. */
export interface DecidedChange {
  /** The override as it will be. */
  readonly override: ConfigOverride;
  readonly before: EditableConfig;
  readonly after: EditableConfig;
  /** Fields whose override changes; none of them: there is nothing to write. */
  readonly changed: readonly ConfigField[];
  /** Why a reason must be given, in words; null if none is needed. */
  readonly needsReason: string | null;
}

/**
 * Applies a patch to an override. A field that is set to what the code says loses its override. Throws
 * `invalid_job_config` for fields that this definition does not have.
 */
export function decideChange(
  definition: AnyDefinition,
  current: ConfigOverride,
  patch: ConfigPatch,
): DecidedChange {
  refuseForeignFields(definition, patch);
  const defaults = configOf(definition);
  const override = Object.fromEntries(
    CONFIG_FIELDS.map((field) => {
      const given = patch[field];
      if (given === undefined) return [field, current[field]];
      return [field, normal(field, given) === defaults[field] ? null : normal(field, given)];
    }),
  ) as unknown as ConfigOverride;
  const before = effectiveConfig(definition, current);
  const after = effectiveConfig(definition, override);
  return {
    override,
    before,
    after,
    changed: CONFIG_FIELDS.filter((field) => override[field] !== current[field]),
    needsReason: needsReason(before, after),
  };
}

/** Cron fields apart by one blank, so that the same schedule is the same text. */
function normal(field: ConfigField, value: ConfigPatch[ConfigField]): typeof value {
  return field === 'schedule' && typeof value === 'string'
    ? value.trim().split(/\s+/).join(' ')
    : value;
}

function refuseForeignFields(definition: AnyDefinition, patch: ConfigPatch): void {
  const refuse = (message: string): never => {
    throw new JobError('invalid_job_config', message);
  };
  const editable = editableFields(definition);
  for (const field of CONFIG_FIELDS) {
    const value = patch[field];
    if (value !== undefined && value !== null && !editable.includes(field)) {
      refuse(`${field}: an inline job has only ${editable.join(' and ')}.`);
    }
  }
  if (definition.form === 'inline') {
    if ((patch.timeoutMs ?? 0) > 10_000) refuse('timeoutMs: an inline job has at most 10 s.');
  } else if (patch.schedule && definition.clock === 'kestra') {
    refuse(
      `schedule: ${definition.name} is triggered by the scheduler; change the flow in kestra/ that names it, ` +
        'so that it is not driven by two clocks.',
    );
  }
}

function needsReason(before: EditableConfig, after: EditableConfig): string | null {
  if (!before.enabled) return null;
  if (!after.enabled) return 'it disables the job';
  return before.schedule !== after.schedule || before.timezone !== after.timezone
    ? 'it changes the schedule of an enabled job'
    : null;
}
