/** The code in docs/define-a-job.md and docs/testing.md compiles and runs. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Copy, copyRepository, DEFINITIONS_TSCONFIG } from './copy-repository.ts';

const blocksOf = (page: string): string[] => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs', page), 'utf8');
  return [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code ?? '');
};

describe('the code in the docs', () => {
  let copy: Copy;
  beforeAll(() => {
    copy = copyRepository();
    const [definition, handler, enqueue] = blocksOf('define-a-job.md');
    const [direct, engine] = blocksOf('testing.md');
    const write = (path: string, text = ''): void =>
      writeFileSync(join(copy.definitions, path), text);
    mkdirSync(join(copy.definitions, 'cleanup-sessions', 'sql'), { recursive: true });
    write('cleanup-sessions/definition.ts', definition);
    write('cleanup-sessions/handler.ts', handler);
    write('cleanup-sessions/sql/delete-sessions.ts', "export const deleteSessions = '';\n");
    write('cleanup-sessions/enqueue.ts', `declare const connectionString: string;\n${enqueue}`);
    write('heartbeat/direct.db.test.ts', direct);
    write('heartbeat/engine.db.test.ts', engine);
  });
  afterAll(() => copy.remove());

  it('compiles', async () => {
    await copy.passes('node_modules/typescript/bin/tsc', '-p', DEFINITIONS_TSCONFIG);
  }, 60_000);

  it('passes where it is a test', async () => {
    const flags = ['run', '--project', 'db', '--no-color'];
    const tests = ['direct', 'engine'].map((name) => `heartbeat/${name}.db.test.ts`);
    const output = await copy.passes('node_modules/vitest/vitest.mjs', ...flags, ...tests);
    expect(output).toMatch(/Tests +2 passed/);
  }, 60_000);
});
