/** vitest's globalSetup of the project `db`: one migrated template per run, which the tests clone. */
import type { TestProject } from 'vitest/node';

import { clonePrefix, dropDatabases, ensureTemplate, testServerUrl } from './testing-template.ts';

declare module 'vitest' {
  interface ProvidedContext {
    testDatabase: {
      readonly serverUrl: string;
      readonly template: string;
      readonly prefix: string;
    };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const serverUrl = testServerUrl();
  const template = await ensureTemplate(serverUrl);
  const prefix = clonePrefix();
  project.provide('testDatabase', { serverUrl, template, prefix });
  // Every test file drops its own; this is for those that were cut off.
  return () => dropDatabases(serverUrl, prefix);
}
