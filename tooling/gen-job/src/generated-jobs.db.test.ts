/** What is generated passes what bin/test would ask of it, in a checkout of its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Copy, copyRepository, DEFINITIONS_TSCONFIG } from './copy-repository.ts';

const JOBS = [
  ['NightlyCleanupOfSessionsThatNobodyHasUsedForLong', '--cron', '0 3 * * *'],
  ['poll_partner', '--every', '15m', '--queue', 'batch', '--timeout', '2h', '--max-attempts', '5'],
  ['plain-one'],
  ['ShortCheck', '--inline', '--timeout', '5s'],
  // Words that are no reserved ones, but nearly.
  ...['Type', 'As', 'Of', 'Async', 'Db', 'Row', 'Limit', 'Args', 'Process'].map((name) => [name]),
  ...['From', 'Constructor'].map((name) => [name, '--inline']),
];

describe('generated jobs', () => {
  let copy: Copy;
  beforeAll(async () => {
    copy = copyRepository();
    for (const [name, ...flags] of JOBS) {
      await copy.passes('tooling/gen-job/src/main.ts', 'job', String(name), ...flags);
    }
  }, 60_000);
  afterAll(() => copy.remove());

  const DEFINITIONS = 'packages/jobs/src/definitions';

  it('are formatted', async () => {
    await copy.passes('node_modules/prettier/bin/prettier.cjs', '--check', DEFINITIONS);
  });

  it('compile, with the registry', async () => {
    await copy.passes('node_modules/typescript/bin/tsc', '-p', DEFINITIONS_TSCONFIG);
  }, 60_000);

  it('pass the lint rules', async () => {
    const flags = ['--type-aware', '--deny-warnings'];
    await copy.passes('node_modules/oxlint/bin/oxlint', ...flags, DEFINITIONS);
  }, 60_000);

  it('leave the registry current', async () => {
    await copy.passes('packages/jobs/src/registry/generate.ts', '--check');
  });

  it('pass the tests that came with them', async () => {
    const folders = ['nightly-cleanup-of', 'poll-partner', 'plain-one', 'short-check'];
    const tests = folders.map((folder) => `${DEFINITIONS}/${folder}`);
    const flags = ['run', '--project', 'db', '--no-color'];
    const output = await copy.passes('node_modules/vitest/vitest.mjs', ...flags, ...tests);
    expect(output).toMatch(/Tests +5 passed/);
  }, 60_000);
});
