import { setTimeout as sleep } from 'node:timers/promises';

import { createTestDatabase } from '@millrace/db/testing';

import { expect } from 'vitest';

import { recordFaults } from './measure-faults.ts';
import { type Scenario, type ScenarioOptions, startScenario } from './scenario.ts';

/** Short, so that tests need not wait long for a rescue. */
export const LEASE_MS = 2_000;
/** CHAOS_SCALE=20 is the long form: that many times the runs and the faults. */
export const SCALE = Number(process.env['CHAOS_SCALE'] ?? 1);
export const TIMEOUT_MS = 60_000 * SCALE + 60_000;

/** Plays a scenario on a database of its own. */
export async function scene(
  fault: string | undefined,
  options: ScenarioOptions,
  play: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase();
  try {
    await sceneOn(database.url, fault, options, play);
  } finally {
    await database.drop();
  }
}

/** Plays a scenario; its row in the table of faults is named `fault`, if given. */
export async function sceneOn(
  url: string,
  fault: string | undefined,
  options: ScenarioOptions,
  play: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const scenario = await startScenario(url, { leaseMs: LEASE_MS, ...options });
  try {
    await play(scenario);
  } finally {
    try {
      // Also when it failed: then the row says how badly.
      if (fault) await recordFaults(fault, scenario);
    } finally {
      await scenario.end();
    }
  }
}

/** Waits until no run is left to do, and asserts that records and ledger tell the same. */
export async function expectAllDone(scenario: Scenario): Promise<void> {
  await scenario.drained(60_000);
  expect(await scenario.unfinished()).toEqual([]);
  expect(await scenario.check()).toEqual([]);
}

/** How many executions ended in each way. */
export async function outcomes({ pool }: Scenario): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ outcome: string; count: number }>(
    'select outcome, count(*)::integer as count from millrace.executions group by outcome',
  );
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
}

/** Stops a worker by chance for a while. */
export async function pause(scenario: Scenario, forMs: number): Promise<void> {
  const worker = scenario.anyWorker();
  scenario.hurt(worker, 'SIGSTOP');
  await sleep(forMs);
  worker?.kill('SIGCONT');
}
