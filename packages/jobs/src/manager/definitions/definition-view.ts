import type { AnyDefinition, JobClock } from '../../contract/definition.ts';
import { configOf, type EditableConfig } from '../../contract/override.ts';
import { parseSchedule, slotsAfter } from '../../contract/schedule.ts';
import { effectiveConfig, isModified } from '../../engine/effective-config.ts';
import type { OverrideRow } from './sql/override.ts';

/** The configuration of a definition as operators see it. */
export interface DefinitionConfig {
  readonly name: string;
  readonly form: 'queued' | 'inline';
  readonly description: string;
  readonly clock: JobClock;
  /** What holds. */
  readonly effective: EditableConfig;
  /** What the code says. */
  readonly defaults: EditableConfig;
  /** Whether anything deviates from the code. */
  readonly modified: boolean;
  /** To be named by whoever changes it; 0 if nobody ever has. */
  readonly version: number;
  readonly updatedAt: Date | null;
  readonly updatedBy: string | null;
}

export function toConfig(definition: AnyDefinition, row: OverrideRow | null): DefinitionConfig {
  const { name, form, description } = definition;
  const effective = effectiveConfig(definition, row);
  return {
    name,
    form,
    description,
    clock: definition.clock === 'none' && effective.schedule !== '' ? 'builtin' : definition.clock,
    effective,
    defaults: configOf(definition),
    modified: row !== null && isModified(row),
    version: row?.version ?? 0,
    updatedAt: row?.updatedAt ?? null,
    updatedBy: row?.updatedBy ?? null,
  };
}

/** The next instants at which it starts by itself: none when it is disabled or has no schedule. */
export function nextSlots(
  { enabled, schedule, timezone }: EditableConfig,
  after: Date,
  count: number,
): Date[] {
  if (!enabled || schedule === '') return [];
  return slotsAfter(parseSchedule(schedule), { timezone, after, count });
}
