import { findChromium } from '@millrace/local/chromium';
import { test as base } from '@playwright/test';

import { type Facts, readFacts } from './facts.ts';
import { Stack } from './stack.ts';

// Playwright reads from the pattern which fixtures a function wants, also when it wants none.
/* oxlint-disable eslint/no-empty-pattern */

interface Fixtures {
  /** For a test that needs servers of its own. */
  readonly stack: Stack;
}
interface WorkerFixtures {
  readonly facts: Facts;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  facts: [async ({}, use) => use(readFacts()), { scope: 'worker' }],
  baseURL: async ({ facts }, use) => use(facts.url),
  launchOptions: [
    async ({}, use) => {
      const given = process.env['CHROMIUM_PATH'] || undefined;
      await use({
        executablePath: await findChromium(given, process.env['PATH'] ?? ''),
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
      });
    },
    { scope: 'worker' },
  ],
  stack: async ({}, use) => {
    const stack = new Stack();
    try {
      await use(stack);
    } finally {
      await stack.stop();
    }
  },
});

export { expect } from '@playwright/test';
