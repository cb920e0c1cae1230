import { join } from 'node:path';

import { format, resolveConfig } from 'prettier';

import type { JobPlan } from './plan-job.ts';

/** Texts by their paths within the job's folder. */
export type JobFiles = ReadonlyMap<string, string>;

/**
 * The files of a new job. A queued one does what `heartbeat` does, an inline one counts what waits:
 * small work that is real, so that the handler, its SQL and its test can be run before they are replaced.
 */
export function sourcesOf(plan: JobPlan): JobFiles {
  return plan.form === 'inline'
    ? new Map([
        ['definition.ts', inlineDefinition(plan)],
        ['handler.ts', inlineHandler(plan)],
        ['handler.db.test.ts', inlineTest(plan)],
      ])
    : new Map([
        ['definition.ts', definition(plan)],
        ['handler.ts', handler(plan)],
        ['handler.db.test.ts', test(plan)],
        ['sql/read-clock.ts', READ_CLOCK],
      ]);
}

/** The same, formatted as the repository at `root` wants it. */
export async function renderJob(plan: JobPlan, root: string): Promise<JobFiles> {
  const rendered = new Map<string, string>();
  for (const [file, source] of sourcesOf(plan)) {
    const filepath = join(root, 'packages/jobs/src/definitions', plan.folder, file);
    const config = await resolveConfig(filepath, { useCache: false });
    rendered.set(file, await format(source, { ...config, filepath }));
  }
  return rendered;
}

/** `name: value,` per field that was asked for. Prettier chooses the quotes. */
function fields(plan: JobPlan, ...names: ('schedule' | 'queue' | 'timeout' | 'maxAttempts')[]) {
  return names
    .filter((name) => plan[name] !== undefined)
    .map((name) => `${name}: ${JSON.stringify(plan[name])},`)
    .join('\n');
}

const definition = (plan: JobPlan): string => `\
import { z } from 'zod';

import { defineJob } from '../../authoring/define-job.ts';

export const ${plan.variable} = defineJob({
  name: '${plan.name}',
  description: 'Proves that runs are enqueued, delivered, executed and recorded.',
  args: z.object({}),
  ${fields(plan, 'schedule', 'queue', 'timeout', 'maxAttempts')}
});
`;

const handler = ({ variable }: JobPlan): string => `\
import { defineHandler } from '../../authoring/handler.ts';
import { ${variable} } from './definition.ts';
import { readClock } from './sql/read-clock.ts';

/** Reports how far this worker's clock is from the database's, and how long a round trip takes. */
export const handler = defineHandler(${variable}, async (_args, { db }) => {
  await db.$queryRawUnsafe(readClock); // opens the connection, which is not what is measured
  const sentAt = Date.now();
  const [row] = await db.$queryRawUnsafe<{ now: Date }[]>(readClock);
  const roundTripMs = Date.now() - sentAt;
  if (!row) throw new Error('the database gave no time');
  return { roundTripMs, clockSkewMs: Math.round(sentAt + roundTripMs / 2 - row.now.getTime()) };
});
`;

const READ_CLOCK = `\
export const readClock = 'select clock_timestamp() as now';
`;

const test = ({ name, variable }: JobPlan): string => `\
import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { performJob } from '../../testing/perform-job.ts';
import { ${variable} } from './definition.ts';
import { handler } from './handler.ts';

const database = useDatabase();

describe('${name}', () => {
  it('reports the round trip and the clocks’ difference in milliseconds', async () => {
    const result = await performJob(${variable}, handler, {}, { db: database.db });
    expect(result).toEqual({ roundTripMs: expect.any(Number), clockSkewMs: expect.any(Number) });
    expect(Object.values(result as object).every(Number.isSafeInteger)).toBe(true);
  });
});
`;

const inlineDefinition = (plan: JobPlan): string => `\
import { defineInlineJob } from '../../authoring/define-inline-job.ts';

export const ${plan.variable} = defineInlineJob({
  name: '${plan.name}',
  description: 'Counts the runs that wait, up to its limit.',
  limit: 100,
  ${fields(plan, 'timeout')}
});
`;

const inlineHandler = ({ variable }: JobPlan): string => `\
import { defineInlineHandler } from '../../authoring/handler.ts';
import { ${variable} } from './definition.ts';

export const handler = defineInlineHandler(${variable}, async ({ db, limit }) => {
  const waiting = await db.run.findMany({
    where: { state: { in: ['queued', 'retrying'] } },
    select: { id: true },
    take: limit,
  });
  return { count: waiting.length, more: waiting.length === limit };
});
`;

const inlineTest = ({ name }: JobPlan): string => `\
import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { performInlineJob } from '../../testing/perform-job.ts';
import { handler } from './handler.ts';

const database = useDatabase();
const perform = (limit: number) => performInlineJob(handler, { db: database.db, limit });

describe('${name}', () => {
  it('finds nothing to do', async () => {
    expect(await perform(10)).toEqual({ count: 0, more: false });
  });

  it('counts no more than its limit, and says that there is more', async () => {
    await database.pool.query(
      "select millrace.enqueue('test.waiting', '{}') from generate_series(1, 3)",
    );
    expect(await perform(2)).toEqual({ count: 2, more: true });
    expect(await perform(10)).toEqual({ count: 3, more: false });
  });
});
`;
