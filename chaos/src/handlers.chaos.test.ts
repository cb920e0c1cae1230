import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { blocking, deadly, deaf, hoarding, HOW, THROWN, throwing } from './faulty-jobs.ts';
import { quick, slow } from './jobs.ts';
import type { Scenario } from './scenario.ts';
import { expectAllDone, LEASE_MS, outcomes, SCALE, scene, TIMEOUT_MS } from './scene.ts';

/** Enqueues faulty runs amid others that must not mind: {@link OTHERS} of them. */
async function enqueueAmidOthers(scenario: Scenario, faulty: () => Promise<void>): Promise<void> {
  await scenario.enqueue(quick, 497);
  // Singly, so that each worker gets some of them; they run when the others strike.
  for (let i = 0; i < 3; i++) {
    await scenario.enqueue(slow, 1);
    await sleep(100);
  }
  await faulty();
  // Few: what was claimed by two workers that died is executed alone afterwards, one by one.
  await scenario.enqueue(quick, 6);
}
const OTHERS = 506;

/** Runs that ended otherwise than in success, in groups. */
async function unsuccessful({ pool }: Scenario): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select definition, state, end_code, losses, count(*)::integer as runs
       from millrace.runs where state <> 'succeeded' group by 1, 2, 3, 4 order by 1`,
  );
  return rows as unknown[];
}

async function query<Row extends object>({ pool }: Scenario, text: string): Promise<Row[]> {
  return (await pool.query<Row>(text)).rows;
}

describe('a handler that ends its process', () => {
  it.each([
    { how: 'exits', definition: deadly, options: {} },
    {
      how: 'allocates until it is killed',
      definition: hoarding,
      options: { execArgv: ['--max-old-space-size=128'], quiet: true },
    },
  ])('ends as poison when it $how, and nothing else does', { timeout: 120_000 }, (each) =>
    scene(`a handler ${each.how}`, { respawn: true, ...each.options }, async (scenario) => {
      await enqueueAmidOthers(scenario, () => scenario.enqueue(each.definition, 1));
      await expectAllDone(scenario);
      expect(await unsuccessful(scenario)).toEqual([
        {
          definition: each.definition.name,
          state: 'failed',
          end_code: 'poison',
          losses: 3,
          runs: 1,
        },
      ]);
    }),
  );
});

describe('a handler that blocks the event loop', () => {
  const LONG = SCALE > 1;
  const BLOCK_MS = LONG ? 60_000 : LEASE_MS * 3;

  it('costs its worker the lease, and the worker comes back', { timeout: 240_000 }, () =>
    scene(
      `a handler blocks for ${BLOCK_MS / 1_000} s`,
      { leaseMs: LONG ? undefined : LEASE_MS },
      async (scenario) => {
        const { pool } = scenario;
        await scenario.enqueue(slow, 12);
        await sleep(300); // so that each worker has some of them when one is blocked
        await scenario.enqueue(blocking, 1, { forMs: BLOCK_MS });
        await scenario.enqueue(quick, 500);
        await expectAllDone(scenario);
        expect(await unsuccessful(scenario)).toEqual([]);

        // Its handler ends at last, for nothing: the execution was lost and the run has ended elsewhere.
        const late = async () => {
          const rows = await query<{ pid: number; lost: boolean; elsewhere: boolean }>(
            scenario,
            `select l.pid, e.outcome = 'lost' and l.ended_at > e.finished_at as lost,
                    exists (select from millrace.executions o join public.ledger b using (run_id, execution)
                             where o.run_id = l.run_id and o.outcome = 'succeeded'
                               and o.worker_id <> e.worker_id and b.pid <> l.pid) as elsewhere
               from public.ledger l join millrace.executions e using (run_id, execution)
              where l.faulty and l.ended_at is not null`,
          );
          return rows[0];
        };
        await expect
          .poll(late, { timeout: BLOCK_MS + 10_000 })
          .toEqual({ pid: expect.any(Number), lost: true, elsewhere: true });
        const pid = (await late())?.pid;

        const registeredAnew = async () =>
          (await pool.query('select from millrace.workers where pid = $1', [pid])).rowCount;
        await expect.poll(registeredAnew, { timeout: 15_000 }).toBe(1);
        await scenario.enqueue(quick, 1_000);
        await expectAllDone(scenario);
        const { rows } = await pool.query<{ worked: boolean }>(
          `select exists (select from public.ledger l, public.ledger f
                           where f.faulty and l.pid = f.pid and l.started_at > f.ended_at) as worked`,
        );
        expect(rows).toEqual([{ worked: true }]);
      },
    ),
  );
});

/** With the ordinary lease: a busy machine must not make a slow worker a lost one. */
const NOTHING_TO_RESCUE = { leaseMs: undefined };

/** What is recorded of the things that are thrown. */
const RECORDED: Record<keyof typeof THROWN, RegExp> = {
  error: /^plain$/,
  'a string': /no Error was thrown: 'some text'$/,
  'no value': /no Error was thrown: undefined$/,
  'no object': /no Error was thrown: null$/,
  'a property': /no Error was thrown: .*Getter/,
  'error with getters': /cannot be read/,
  'own inspection': /cannot be read/,
  'revoked proxy': /cannot be read/,
  'huge message': /^x{2000}$/,
};

/** Every thing thrown in every way. */
const ESCAPES = HOW.flatMap((how) =>
  (Object.keys(THROWN) as (keyof typeof THROWN)[]).map((what) => ({ how, what })),
);
const FAILING = ESCAPES.filter(({ how }) => how !== 'afterwards');

describe('a handler that throws', () => {
  it('fails its own attempt, whatever it throws and when', { timeout: TIMEOUT_MS }, () =>
    scene('handlers throw, in all ways', NOTHING_TO_RESCUE, async (scenario) => {
      await enqueueAmidOthers(scenario, async () => {
        for (const { what, how } of ESCAPES) await scenario.enqueue(throwing, SCALE, { what, how });
      });
      await expectAllDone(scenario);
      expect(await outcomes(scenario)).not.toHaveProperty('lost');
      expect(await unsuccessful(scenario)).toEqual([
        {
          definition: 'throwing',
          state: 'failed',
          end_code: 'attempts_exhausted',
          losses: 0,
          runs: FAILING.length * SCALE,
        },
      ]);
      const errors = await query<{ what: keyof typeof THROWN; how: string; message: string }>(
        scenario,
        `select distinct r.args ->> 'what' as what, r.args ->> 'how' as how, e.error ->> 'message' as message
           from millrace.executions e join millrace.runs r on r.id = e.run_id
          where r.definition = 'throwing' and e.outcome = 'failed'`,
      );
      expect(errors).toHaveLength(FAILING.length);
      for (const { what, message } of errors) expect(message).toMatch(RECORDED[what]);
    }),
  );
});

describe('a handler that ignores its signal', () => {
  it('times out without it, and its strand serves again', { timeout: TIMEOUT_MS }, () =>
    scene('handlers ignore their signal', NOTHING_TO_RESCUE, async (scenario) => {
      await enqueueAmidOthers(scenario, () => scenario.enqueue(deaf, 10));
      await expectAllDone(scenario);
      expect(await unsuccessful(scenario)).toEqual([
        { definition: 'deaf', state: 'failed', end_code: 'timed_out', losses: 0, runs: 10 },
      ]);
      expect(await outcomes(scenario)).toEqual({ timed_out: 20, succeeded: OTHERS });
    }),
  );
});
