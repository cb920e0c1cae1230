import { defineConfig } from 'vitest/config';

const roots = ['apps', 'packages', 'tooling', 'bench'];
const exclude = ['**/node_modules/**', '**/.next/**'];
const jsonFile = process.env['VITEST_JSON'];

export default defineConfig({
  test: {
    // bin/test reads its counts from the file.
    reporters: jsonFile ? ['default', ['json', { outputFile: jsonFile }]] : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: roots.map((root) => `${root}/**/*.test.{ts,tsx}`),
          exclude: [...exclude, '**/*.db.test.ts', '**/*.chaos.test.ts'],
        },
      },
      {
        test: {
          name: 'db',
          include: roots.map((root) => `${root}/**/*.db.test.ts`),
          exclude,
          globalSetup: ['packages/db/src/testing-global-setup.ts'],
          pool: 'forks',
          maxWorkers: 2,
          testTimeout: 20_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          // Processes under faults: one scenario at a time, so that only the faults disturb it.
          name: 'chaos',
          include: ['chaos/**/*.chaos.test.ts'],
          exclude,
          globalSetup: [
            'packages/db/src/testing-global-setup.ts',
            'chaos/src/fault-table-setup.ts',
          ],
          pool: 'forks',
          maxWorkers: 1,
        },
      },
    ],
  },
});
