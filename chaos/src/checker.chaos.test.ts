import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import type { Safeguard } from './break-safeguard.ts';
import { flaky, slow } from './jobs.ts';
import type { Scenario } from './scenario.ts';
import { LEASE_MS, pause, scene, TIMEOUT_MS } from './scene.ts';

/** Several times what the same work takes when nothing is broken. */
const DRAIN_MS = 4_000;

describe('the checker', () => {
  const provoke: Record<Safeguard, (scenario: Scenario) => Promise<void>> = {
    async fence(scenario) {
      await scenario.enqueue(slow, 60);
      await sleep(700);
      // It comes back while another worker executes what it had lost.
      await pause(scenario, LEASE_MS * 1.5);
      await scenario.drained(DRAIN_MS);
    },
    async ticket(scenario) {
      // By chance only does a worker come back with tickets that have been replaced.
      for (let round = 0; round < 5; round++) {
        await scenario.enqueue(flaky, 600);
        await sleep(400);
        await pause(scenario, LEASE_MS * 2);
        if (!(await scenario.drained(DRAIN_MS))) return;
      }
    },
    async lease(scenario) {
      await scenario.enqueue(slow, 60);
      await sleep(LEASE_MS * 2);
      await scenario.drained(DRAIN_MS);
    },
  };
  for (const safeguard of ['fence', 'ticket', 'lease'] as const) {
    it(`notices that the ${safeguard} is missing`, { timeout: TIMEOUT_MS }, () =>
      scene(undefined, { broken: safeguard }, async (scenario) => {
        await provoke[safeguard](scenario);
        expect(await scenario.check()).not.toEqual([]);
      }),
    );
  }
});
