import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import { defineJob } from '../authoring/define-job.ts';
import { RunAborted } from '../authoring/handler.ts';
import { cancel, fatal, snooze } from '../authoring/outcome.ts';
import { z } from 'zod';
import type { Settled } from './decide-ending.ts';
import { endExecution } from './end-execution.ts';
import type { EndedExecution } from './finish-execution.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';

const SECRET = 'ann@example.org';
const definition = defineJob({
  name: 'test.ends',
  description: 'Ends.',
  args: z.object({ to: z.string() }),
  newArgs: () => ({ to: SECRET }),
});
const claimed = (attempt: number): ClaimedRun => ({
  id: 'a0000000-0000-7000-8000-000000000001',
  definition: definition.name,
  ticket: '7',
  execution: attempt + 1,
  attempt,
  max_attempts: 3,
  losses: 0,
  args: { to: SECRET },
  context: { requestId: 'r-1' },
  slot: null,
  trigger: 'app',
  waited_ms: 0,
});
const threw = (error: unknown): Settled => ({ how: 'threw', error });

async function end(
  settled: Settled | null,
  { attempt = 1, finish = (): Promise<boolean> => Promise.resolve(true) } = {},
) {
  const logged: Record<string, unknown>[] = [];
  const written: EndedExecution[] = [];
  await endExecution(
    {
      registry: { find: () => definition },
      transitions: {
        finish: (ended) => {
          written.push(ended);
          return finish();
        },
      },
      metrics: { executionEnded: () => undefined },
      log: pino(
        { base: null },
        { write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) },
      ),
    },
    { claimed: claimed(attempt), settled, execution: null },
  );
  return { logged, written };
}

describe('a failure', () => {
  const about = {
    runId: claimed(1).id,
    definition: definition.name,
    maxAttempts: 3,
    requestId: 'r-1',
  };

  it.each([
    [1, 40],
    [2, 40],
    [3, 50],
  ])('is logged once: at attempt %i of 3 on level %i', async (attempt, level) => {
    const { logged } = await end(threw(new Error(`550 ${SECRET}`)), { attempt });
    expect(logged).toMatchObject([
      { ...about, level, attempt, execution: attempt + 1, msg: 'attempt failed' },
    ]);
    expect(logged[0]).toMatchObject({ error: { name: 'Error', message: '550 [redacted]' } });
    expect(typeof logged[0]!['nextAttemptInMs'] === 'number').toBe(level === 40);
  });

  it('for good is logged on level error at any attempt', async () => {
    const { logged } = await end(threw(fatal('gone')));
    expect(logged).toMatchObject([{ ...about, level: 50, attempt: 1 }]);
  });

  it('at the timeout is logged like any other', async () => {
    const { logged } = await end(threw(new RunAborted('timeout')));
    expect(logged).toMatchObject([{ ...about, level: 40, msg: 'attempt timed_out' }]);
  });

  it.each([`text ${SECRET}`, { to: SECRET }, null, undefined, 7])(
    'by %j, which is no error, has a stack',
    async (thrown) => {
      const { logged, written } = await end(threw(thrown));
      expect(logged).toHaveLength(1);
      const { error } = written[0]!;
      expect(error?.stack).toMatch(/a value that is no Error was thrown[\s\S]*\n +at /);
      expect(JSON.stringify([logged, written.map((each) => each.error)])).not.toContain('ann@');
    },
  );
});

describe('what is no failure', () => {
  it.each([
    ['a success', { how: 'returned', value: { count: 1 } }],
    ['a snooze', { how: 'returned', value: snooze(1) }],
    ['a cancel', threw(cancel('nothing is left'))],
    ['a hand-back', threw(new RunAborted('shutdown'))],
    ['what never started', null],
  ] as [string, Settled | null][])('is not logged: %s', async (_what, settled) => {
    expect((await end(settled)).logged).toEqual([]);
  });
});

describe('an ending', () => {
  it('that the database refuses is written bare; its error, which quotes the row, is scrubbed', async () => {
    let tries = 0;
    const refusal = Object.assign(new Error(`invalid: ${SECRET}`), {
      detail: `Failing row ${SECRET}`,
    });
    const { logged, written } = await end(
      { how: 'returned', value: { count: 1 } },
      { finish: () => (tries++ === 0 ? Promise.reject(refusal) : Promise.resolve(true)) },
    );
    expect(written.map(({ result }) => result)).toEqual([{ count: 1 }, null]);
    expect(logged).toMatchObject([{ level: 50, error: { message: 'invalid: [redacted]' } }]);
    expect(JSON.stringify(logged)).not.toContain('ann@');
  });

  it('that came too late is told as such, not as a failure', async () => {
    const { logged } = await end(threw(new Error('x')), { finish: () => Promise.resolve(false) });
    expect(logged).toMatchObject([{ level: 40, msg: expect.stringMatching(/came too late/) }]);
  });
});
