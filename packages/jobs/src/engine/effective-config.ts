import type { AnyDefinition } from '../contract/definition.ts';
import {
  CONFIG_FIELDS,
  type ConfigOverride,
  configOf,
  editableFields,
  type EditableConfig,
} from '../contract/override.ts';

/**
 * What holds for a definition: its code's values with the operators' in place of those they changed.
 * The SQL functions that enqueue say the same (`coalesce`); a test holds both equal.
 */
export function effectiveConfig(
  definition: AnyDefinition,
  override: ConfigOverride | null,
): EditableConfig {
  const defaults = configOf(definition);
  if (!override) return defaults;
  const changed = editableFields(definition)
    .filter((field) => override[field] !== null)
    .map((field) => [field, override[field]] as const);
  return { ...defaults, ...(Object.fromEntries(changed) as Partial<EditableConfig>) };
}

/** Whether anything differs from the code. */
export function isModified(override: ConfigOverride): boolean {
  return CONFIG_FIELDS.some((field) => override[field] !== null);
}
