import { globSync } from 'node:fs';
import { join } from 'node:path';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { JobError } from '../contract/errors.ts';
import { PERMISSIONS } from '../contract/permission.ts';
import { managerContext } from '../testing/manager-context.ts';
import type { ManagerContext, Verb } from './verb.ts';

type AnyVerb = Verb<never, unknown>;

/** Every verb that a file of this folder exports: a new one is found without being named here. */
async function everyVerb(): Promise<Map<string, AnyVerb>> {
  const files = globSync('*/*.ts', { cwd: import.meta.dirname }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  const verbs = new Map<string, AnyVerb>();
  for (const file of files) {
    const exported = (await import(join(import.meta.dirname, file))) as Record<string, unknown>;
    for (const value of Object.values(exported)) {
      if (typeof value === 'function' && 'verb' in value) {
        verbs.set((value as AnyVerb).verb, value as AnyVerb);
      }
    }
  }
  return verbs;
}

const UUID = '01900000-0000-7000-8000-000000000001';
const RIGHT = {
  name: 'test.nightly',
  id: UUID,
  version: 0,
  to: 0,
  reason: 'a reason',
  patch: {},
  slot: '2030-01-01T02:00:00Z',
  definitions: [{ name: 'test.nightly', version: 0 }],
  enabled: true,
  action: 'retry',
  filter: { state: ['failed'] },
  rate: 10,
};
const ODD: readonly unknown[] = [
  undefined,
  null,
  '',
  'x\0y',
  '\ud800',
  'x'.repeat(1_000_000),
  Number.NaN,
  -1,
  1e308,
  2 ** 53,
  [],
  {},
  { toString: null },
  new Date(Number.NaN),
  new Date(8.64e15),
  JSON.parse('{"__proto__": {"polluted": true}}'),
  "'; drop table millrace.runs; --",
];

describe('every verb', async () => {
  const database = useDatabase();
  const verbs = await everyVerb();
  const list = [...verbs];

  it('is found', () => {
    expect(verbs.size).toBeGreaterThan(25);
    expect(list.every(([, { permission }]) => permission in PERMISSIONS)).toBe(true);
  });

  it.each(list)('%s is denied without its permission, and that is audited', async (name, verb) => {
    const context: ManagerContext = managerContext(database);
    const others = context.actor.permissions.filter((each) => each !== verb.permission);
    const powerless = { ...context, actor: { ...context.actor, permissions: others } };
    await expect(verb(powerless, RIGHT as never)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await database.db.auditEvent.findMany()).toMatchObject([
      { action: name, outcome: 'denied', requestId: context.requestId },
    ]);
  });

  it.each(list)('%s refuses odd input with an error of the contract', async (_name, verb) => {
    const context = managerContext(database, 'admin');
    const inputs = [
      ...ODD,
      ...Object.keys(RIGHT).flatMap((key) =>
        ODD.map((value) => ({ ...pick(verb, RIGHT), [key]: value })),
      ),
    ];
    const odd: unknown[] = [];
    for (const input of inputs) {
      await verb(context, input as never).catch((error: unknown) => {
        if (!(error instanceof JobError)) odd.push({ input: shown(input), error: String(error) });
      });
    }
    expect(odd).toEqual([]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

/** The fields of it that the verb's schema knows. */
function pick(verb: AnyVerb, fields: Record<string, unknown>): Record<string, unknown> {
  const { shape } = verb.input as unknown as { shape?: Record<string, unknown> };
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !shape || key in shape));
}

function shown(input: unknown): string {
  return String(JSON.stringify(input)).slice(0, 200);
}
