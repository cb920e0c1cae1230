import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { freePort } from '@millrace/local/ports';
import { REPOSITORY } from '@millrace/local/repository';

import { environment } from './support/stack.ts';
import { expect, test } from './support/test.ts';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`a worker that gets ${signal} ends with exit code 0`, async ({ facts }) => {
    const port = await freePort();
    const worker = spawn(
      process.execPath,
      [join('apps', 'worker', 'src', 'main.ts'), '--queues', 'default'],
      {
        cwd: REPOSITORY,
        env: { ...environment(facts.databaseUrl), HEALTH_PORT: String(port) },
        stdio: 'ignore',
      },
    );
    const ended = once(worker, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    try {
      await expect
        .poll(() =>
          fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.status, String),
        )
        .toBe(200);
      worker.kill(signal);
      expect(await ended).toEqual([0, null]);
    } finally {
      worker.kill('SIGKILL');
    }
  });
}
