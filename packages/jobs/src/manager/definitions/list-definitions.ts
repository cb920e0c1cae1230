import { z } from 'zod';

import type { AnyDefinition } from '../../contract/definition.ts';
import { shownStatus, type ShownStatus } from '../../contract/run-state.ts';
import { defineRead, type VerbScope } from '../verb.ts';
import { findDefinition } from './change-definition.ts';
import { definitionName } from './config-patch.ts';
import { type DefinitionConfig, nextSlots, toConfig } from './definition-view.ts';
import { databaseTime, type LastRunRow, lastRuns } from './sql/definition-facts.ts';
import { type OverrideRow, readOverrides } from './sql/override.ts';

/** A definition with what it did last and does next. */
export interface DefinitionView extends DefinitionConfig {
  /** Null where it does not start by itself. */
  readonly nextSlot: Date | null;
  readonly lastRun: {
    readonly id: string;
    readonly status: ShownStatus;
    readonly finishedAt: Date | null;
  } | null;
}

/** Every definition of the code, by name; and the overrides of those that it no longer has. */
export const listDefinitions = defineRead({
  name: 'definitions.list',
  permission: 'ops.jobs.read',
  input: z.strictObject({}).default({}),
  async read(scope) {
    const { registry, tx } = scope;
    const { rows } = await tx.query<OverrideRow & { definition: string }>(readOverrides);
    const definitions = [...registry.definitions.values()].toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    return {
      definitions: await toViews(scope, definitions, rows),
      orphaned: rows
        .filter(({ definition }) => !registry.definitions.has(definition))
        .map(({ definition, version, updatedAt, updatedBy }) => ({
          name: definition,
          version,
          updatedAt,
          updatedBy,
        })),
    };
  },
});

/** One definition. Throws `job_definition_not_found`. */
export const getDefinition = defineRead({
  name: 'definitions.get',
  permission: 'ops.jobs.read',
  input: z.strictObject({ name: definitionName }),
  async read(scope, { name }) {
    const definition = findDefinition(scope, name);
    const { rows } = await scope.tx.query<OverrideRow & { definition: string }>(readOverrides);
    const [view] = await toViews(scope, [definition], rows);
    return view as DefinitionView;
  },
});

/** Enabled definitions with a schedule, the next one first, each with its next slots. */
export const listScheduled = defineRead({
  name: 'schedules.list',
  permission: 'ops.jobs.read',
  input: z.strictObject({ slots: z.int().min(1).max(100).default(5) }).prefault({}),
  async read({ registry, tx }, { slots }) {
    const { rows } = await tx.query<OverrideRow & { definition: string }>(readOverrides);
    const now = await timeOf(tx);
    return [...registry.definitions.values()]
      .map((definition) => {
        const row = rows.find((each) => each.definition === definition.name) ?? null;
        const { name, effective } = toConfig(definition, row);
        const { schedule, timezone } = effective;
        return { name, schedule, timezone, nextSlots: nextSlots(effective, now, slots) };
      })
      .filter(({ nextSlots: found }) => found.length > 0)
      .toSorted((a, b) => Number(a.nextSlots[0]) - Number(b.nextSlots[0]));
  },
});

async function timeOf(tx: VerbScope['tx']): Promise<Date> {
  const { rows } = await tx.query<{ now: Date }>(databaseTime);
  return rows[0]?.now ?? new Date();
}

async function toViews(
  { tx }: VerbScope,
  definitions: readonly AnyDefinition[],
  overrides: readonly (OverrideRow & { definition: string })[],
): Promise<DefinitionView[]> {
  const names = definitions.map(({ name }) => name);
  const { rows } = await tx.query<LastRunRow>({ ...lastRuns, values: [names] });
  const last = new Map(rows.map((row) => [row.definition, row]));
  const now = await timeOf(tx);
  return definitions.map((definition) => {
    const row = overrides.find((each) => each.definition === definition.name) ?? null;
    const config = toConfig(definition, row);
    const run = last.get(definition.name);
    return {
      ...config,
      nextSlot: nextSlots(config.effective, now, 1)[0] ?? null,
      lastRun: run
        ? {
            id: run.id,
            status: shownStatus(run.state, run.run_at, now),
            finishedAt: run.finished_at,
          }
        : null,
    };
  });
}
