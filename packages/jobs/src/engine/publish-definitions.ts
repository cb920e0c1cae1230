import type pg from 'pg';

import type { Registry } from '../authoring/registry.ts';
import { configOf } from '../contract/override.ts';
import { publishDefinitions as statement } from './sql/workers.ts';

/**
 * Writes down which definitions this code has, with their values, so that other versions of it can tell
 * what is really runnable; carries overrides over from former names.
 */
export async function publishDefinitions(
  pool: pg.Pool,
  registry: Registry,
  codeVersion: string,
): Promise<void> {
  const definitions = [...registry.definitions.values()].map((definition) => ({
    definition: definition.name,
    form: definition.form,
    formerNames: definition.formerNames,
    defaults: {
      ...configOf(definition),
      description: definition.description,
      clock: definition.clock,
    },
  }));
  await pool.query(statement, [JSON.stringify(definitions), codeVersion]);
}
