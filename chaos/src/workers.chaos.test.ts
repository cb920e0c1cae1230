import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { flaky, quick, slow, stuck, STUCK_AT_ONCE } from './jobs.ts';
import type { Scenario } from './scenario.ts';
import { expectAllDone, LEASE_MS, outcomes, pause, SCALE, scene, TIMEOUT_MS } from './scene.ts';

/** More than this waiting would only postpone the work until after the last fault. */
const MAX_BACKLOG = 2_000;

async function backlogBelow(max: number, scenario: Scenario): Promise<void> {
  while ((await scenario.backlog()) > max) await sleep(50);
}

describe('workers under faults', () => {
  it('lose nothing when they are killed again and again', { timeout: TIMEOUT_MS }, () =>
    scene('SIGKILL again and again', { respawn: true }, async (scenario) => {
      for (let round = 0; round < 5 * SCALE; round++) {
        await backlogBelow(MAX_BACKLOG, scenario);
        await scenario.enqueue(quick, 600);
        await scenario.enqueue(flaky, 200);
        await scenario.enqueue(slow, 10);
        await sleep(900);
        scenario.hurt(scenario.anyWorker(), 'SIGKILL');
      }
      await expectAllDone(scenario);
      expect((await outcomes(scenario))['lost']).toBeGreaterThan(0);
    }),
  );

  it('are fenced when they were paused beyond their lease', { timeout: TIMEOUT_MS }, () =>
    scene('SIGSTOP for twice the lease', {}, async (scenario) => {
      for (let round = 0; round < 2 * SCALE; round++) {
        await scenario.enqueue(quick, 600);
        await scenario.enqueue(slow, 30);
        await sleep(300);
        await pause(scenario, LEASE_MS * 2);
      }
      await expectAllDone(scenario);
      expect((await outcomes(scenario))['lost']).toBeGreaterThan(0);
    }),
  );

  it('repeat nothing in a rolling restart', { timeout: TIMEOUT_MS }, () =>
    // With the ordinary lease: a busy machine must not make a slow worker a lost one.
    scene('SIGTERM of each in turn', { respawn: true, leaseMs: undefined }, async (scenario) => {
      for (let round = 0; round < SCALE; round++) {
        await scenario.enqueue(quick, 3_000);
        await scenario.enqueue(slow, 30);
        for (const worker of scenario.workers()) {
          await sleep(500);
          scenario.hurt(worker, 'SIGTERM');
        }
      }
      await expectAllDone(scenario);
      const counts = await outcomes(scenario);
      expect(counts).not.toHaveProperty('lost');
      expect(counts).not.toHaveProperty('failed');
    }),
  );

  it('go on when every connection is cut', { timeout: TIMEOUT_MS }, () =>
    scene('every connection cut', {}, async (scenario) => {
      for (let round = 0; round < 5 * SCALE; round++) {
        await scenario.enqueue(quick, 600);
        await scenario.enqueue(slow, 5);
        await sleep(600);
        await scenario.pool
          .query(
            `select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and application_name like 'millrace worker%'`,
          )
          .catch(() => undefined);
        scenario.hurtAll();
      }
      await expectAllDone(scenario);
    }),
  );
});

/** A promise of the product, hence with its own lease. */
const RESCUE_MS = 30_000;

async function startsOf({ pool }: Scenario, execution: number): Promise<Date[]> {
  const { rows } = await pool.query<{ at: Date }>(
    `select min(started_at) as at from public.ledger where execution >= $1 group by run_id order by 1`,
    [execution],
  );
  return rows.map(({ at }) => at);
}

describe('a worker that is killed with all hands full', () => {
  it('is replaced by others within 30 s', { timeout: 90_000 }, () =>
    scene(
      `SIGKILL with ${STUCK_AT_ONCE} running, default lease`,
      { workers: 1, leaseMs: undefined, queues: ['mail'] },
      async (scenario) => {
        await scenario.enqueue(stuck, STUCK_AT_ONCE);
        const started = async (execution: number): Promise<number> =>
          (await startsOf(scenario, execution)).length;
        await expect.poll(() => started(1), { timeout: 10_000 }).toBe(STUCK_AT_ONCE);
        const [victim] = scenario.workers();
        await Promise.all([scenario.addWorker(), scenario.addWorker()]);

        scenario.hurt(victim, 'SIGKILL');
        await expect.poll(() => started(2), { timeout: RESCUE_MS + 15_000 }).toBe(STUCK_AT_ONCE);
        const last = (await startsOf(scenario, 2)).at(-1);
        const killed = scenario.faults[0];
        expect(Number(last) - Number(killed?.at)).toBeLessThan(RESCUE_MS);
        await expectAllDone(scenario);
        expect(await outcomes(scenario)).toEqual({ lost: STUCK_AT_ONCE, succeeded: STUCK_AT_ONCE });
      },
    ),
  );
});
