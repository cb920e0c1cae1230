import type { AnyDefinition } from './definition.ts';

/** What operators may change of a definition, with the value that holds. */
export interface EditableConfig {
  readonly enabled: boolean;
  /** Five cron fields, `@every` with a duration, or empty. */
  readonly schedule: string;
  readonly timezone: string;
  /** Of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly queue: string;
  /** −100 … 100; lower runs first. */
  readonly priority: number;
}

export type ConfigField = keyof EditableConfig;

export const CONFIG_FIELDS = [
  'enabled',
  'schedule',
  'timezone',
  'timeoutMs',
  'maxAttempts',
  'queue',
  'priority',
] as const satisfies readonly ConfigField[];

/** Of an inline definition there is less to change: it waits in no queue and has no clock of its own. */
export const INLINE_CONFIG_FIELDS = ['enabled', 'timeoutMs'] as const satisfies ConfigField[];

/** Deviations from the code: null stands for the code's own value. */
export type ConfigOverride = { readonly [Field in ConfigField]: EditableConfig[Field] | null };

export const NO_OVERRIDE: ConfigOverride = {
  enabled: null,
  schedule: null,
  timezone: null,
  timeoutMs: null,
  maxAttempts: null,
  queue: null,
  priority: null,
};

/** The fields that operators may change of this definition. */
export function editableFields(definition: AnyDefinition): readonly ConfigField[] {
  return definition.form === 'inline' ? INLINE_CONFIG_FIELDS : CONFIG_FIELDS;
}

/** The code's own values. What an inline definition has not is empty or neutral. */
export function configOf(definition: AnyDefinition): EditableConfig {
  const { enabled, timeoutMs } = definition;
  if (definition.form === 'inline') {
    return {
      enabled,
      timeoutMs,
      schedule: '',
      timezone: 'UTC',
      maxAttempts: 1,
      queue: '',
      priority: 0,
    };
  }
  const { schedule, timezone, maxAttempts, queue, priority } = definition;
  return { enabled, schedule, timezone, timeoutMs, maxAttempts, queue, priority };
}
