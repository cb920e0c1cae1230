import { isDeepStrictEqual } from 'node:util';

import type { TestDatabase } from '@millrace/db/testing';
import { expect } from 'vitest';
import type { z } from 'zod';

import type { JobDefinition } from '../contract/definition.ts';

export interface ExpectedRuns<Definition extends JobDefinition> {
  /** Those that must be equal; arguments that are not named may be anything. */
  readonly args?: Partial<z.input<Definition['args']>>;
  /** How many such runs there must be, 1 unless given; 0 asserts that there is none. */
  readonly times?: number;
}

/**
 * Asserts how many runs of a definition the test's database holds, whatever has become of them since, and
 * returns their ids, oldest first. The failure lists the arguments of those that are there.
 */
export async function expectEnqueued<Definition extends JobDefinition>(
  database: Pick<TestDatabase, 'db'>,
  definition: Definition,
  { args = {}, times = 1 }: ExpectedRuns<Definition> = {},
): Promise<readonly string[]> {
  const runs = await database.db.run.findMany({
    where: { definition: definition.name },
    select: { id: true, args: true },
    orderBy: { id: 'asc' },
  });
  // Stored arguments are JSON: dates are strings, undefined is left out.
  const expected = JSON.parse(JSON.stringify(args)) as Record<string, unknown>;
  const found = runs.filter((run) => hasArgs(run.args, expected));
  const there = runs.map((run) => `\n  ${JSON.stringify(run.args)}`).join('');
  const what = `runs of ${definition.name} with ${JSON.stringify(expected)}`;
  expect(found.length, `${what}; enqueued with:${there || ' nothing'}`).toBe(times);
  return found.map(({ id }) => id);
}

function hasArgs(stored: unknown, expected: Readonly<Record<string, unknown>>): boolean {
  const args = (stored ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(expected).every(([name, value]) => isDeepStrictEqual(args[name], value));
}
