import { defineConfig } from '@playwright/test';

const jsonFile = process.env['PLAYWRIGHT_JSON'];

export default defineConfig({
  testDir: 'e2e',
  testMatch: '*.spec.ts',
  globalSetup: './e2e/support/global-setup.ts',
  outputDir: 'test-results',
  // One web server and one pair of workers serve all tests.
  workers: 1,
  fullyParallel: false,
  retries: 0,
  forbidOnly: process.env['CI'] !== undefined,
  timeout: 30_000,
  expect: { timeout: 10_000 },
  reporter: jsonFile ? [['json', { outputFile: jsonFile }]] : [['list']],
  use: { trace: 'retain-on-failure', locale: 'en-GB', timezoneId: 'UTC' },
});
