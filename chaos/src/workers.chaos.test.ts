import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import { createTestDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import type { Safeguard } from './break-safeguard.ts';
import { deadly, flaky, quick, slow } from './jobs.ts';
import { type Scenario, type ScenarioOptions, startScenario } from './scenario.ts';

const LEASE_MS = 2_000;
/** CHAOS_SCALE=20 is the long form: that many times the runs and the faults. */
const SCALE = Number(process.env['CHAOS_SCALE'] ?? 1);
const TIMEOUT_MS = 60_000 * SCALE + 60_000;

async function scene(
  options: ScenarioOptions,
  play: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase();
  const scenario = await startScenario(database.url, { leaseMs: LEASE_MS, ...options });
  try {
    await play(scenario);
  } finally {
    await scenario.end();
    await database.drop();
  }
}

async function outcomes({ pool }: Scenario): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ outcome: string; count: number }>(
    'select outcome, count(*)::integer as count from millrace.executions group by outcome',
  );
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

async function pause(worker: ChildProcess | undefined, forMs: number): Promise<void> {
  worker?.kill('SIGSTOP');
  await sleep(forMs);
  worker?.kill('SIGCONT');
}

describe('workers under faults', () => {
  it('lose nothing when they are killed again and again', { timeout: TIMEOUT_MS }, () =>
    scene({ respawn: true }, async (scenario) => {
      for (let round = 0; round < 5 * SCALE; round++) {
        await scenario.enqueue(quick, 600);
        await scenario.enqueue(flaky, 200);
        await scenario.enqueue(slow, 10);
        await sleep(900);
        scenario.anyWorker()?.kill('SIGKILL');
      }
      await scenario.drained(60_000);
      expect(await scenario.unfinished()).toEqual([]);
      expect(await scenario.check()).toEqual([]);
      expect((await outcomes(scenario))['lost']).toBeGreaterThan(0);
    }),
  );

  it('are fenced when they were paused beyond their lease', { timeout: TIMEOUT_MS }, () =>
    scene({}, async (scenario) => {
      for (let round = 0; round < 2 * SCALE; round++) {
        await scenario.enqueue(quick, 600);
        await scenario.enqueue(slow, 30);
        await sleep(300);
        await pause(scenario.anyWorker(), LEASE_MS * 2);
      }
      await scenario.drained(60_000);
      expect(await scenario.unfinished()).toEqual([]);
      expect(await scenario.check()).toEqual([]);
      expect((await outcomes(scenario))['lost']).toBeGreaterThan(0);
    }),
  );

  it('repeat nothing in a rolling restart', { timeout: TIMEOUT_MS }, () =>
    // With the ordinary lease: a busy machine must not make a slow worker a lost one.
    scene({ respawn: true, leaseMs: 15_000 }, async (scenario) => {
      for (let round = 0; round < SCALE; round++) {
        await scenario.enqueue(quick, 3_000);
        await scenario.enqueue(slow, 30);
        for (const worker of scenario.workers()) {
          await sleep(500);
          worker.kill('SIGTERM');
        }
      }
      await scenario.drained(60_000);
      expect(await scenario.unfinished()).toEqual([]);
      expect(await scenario.check()).toEqual([]);
      const counts = await outcomes(scenario);
      expect(counts).not.toHaveProperty('lost');
      expect(counts).not.toHaveProperty('failed');
    }),
  );

  it('go on when every connection is cut', { timeout: TIMEOUT_MS }, () =>
    scene({}, async (scenario) => {
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
      }
      await scenario.drained(60_000);
      expect(await scenario.unfinished()).toEqual([]);
      expect(await scenario.check()).toEqual([]);
    }),
  );

  it('quarantine the run that kills them, and nothing else', { timeout: TIMEOUT_MS }, () =>
    scene({ respawn: true }, async (scenario) => {
      await scenario.enqueue(deadly, 1);
      await scenario.enqueue(slow, 20);
      await scenario.enqueue(quick, 500);
      await scenario.drained(60_000);
      expect(await scenario.unfinished()).toEqual([]);
      expect(await scenario.check()).toEqual([]);
      const { rows } = await scenario.pool.query(
        `select definition, state, end_code, losses from millrace.runs where state <> 'succeeded'`,
      );
      expect(rows).toEqual([
        { definition: 'deadly', state: 'failed', end_code: 'poison', losses: 3 },
      ]);
    }),
  );
});

describe('the checker', () => {
  const provoke: Record<Safeguard, (scenario: Scenario) => Promise<void>> = {
    async fence(scenario) {
      await scenario.enqueue(slow, 60);
      await sleep(700);
      // It comes back while another worker executes what it had lost.
      await pause(scenario.anyWorker(), LEASE_MS * 1.5);
    },
    async ticket(scenario) {
      for (let round = 0; round < 3; round++) {
        await scenario.enqueue(flaky, 600);
        await sleep(400);
        await pause(scenario.anyWorker(), LEASE_MS * 2);
      }
    },
    async lease(scenario) {
      await scenario.enqueue(slow, 60);
      await sleep(LEASE_MS * 2);
    },
  };
  for (const safeguard of ['fence', 'ticket', 'lease'] as const) {
    it(`notices that the ${safeguard} is missing`, { timeout: TIMEOUT_MS }, () =>
      scene({ broken: safeguard }, async (scenario) => {
        await provoke[safeguard](scenario);
        await scenario.drained(10_000);
        expect(await scenario.check()).not.toEqual([]);
      }),
    );
  }
});
