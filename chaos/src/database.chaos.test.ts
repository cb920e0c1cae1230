import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { migrate } from '@millrace/db/migrate';
import { type EmbeddedPostgres, startPostgres } from '@millrace/local/embedded-postgres';
import { describe, it } from 'vitest';

import { quick, slow } from './jobs.ts';
import { expectAllDone, SCALE, sceneOn } from './scene.ts';

const DOWN_MS = 3_000;
const quiet = { info: () => undefined, warn: () => undefined };

/** A server of its own, that can be stopped and started. Its port stays the same. */
async function withServer(
  play: (server: {
    url: string;
    restart: (downMs: number, how: 'stop' | 'kill') => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  chmodSync(dataDir, 0o755); // for root the server runs as another user
  const start = (): Promise<EmbeddedPostgres> =>
    startPostgres({ dataDir, log: () => undefined, settings: { max_connections: '300' } });
  let server = await start();
  try {
    await migrate({ databaseUrl: server.url, queues: ['default', 'batch', 'mail'], log: quiet });
    await play({
      url: server.url,
      async restart(downMs, how) {
        if (how === 'kill') server.kill();
        else await server.stop();
        await server.ended;
        await sleep(downMs);
        server = await start();
      },
    });
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

describe('workers whose database goes away', () => {
  for (const how of ['stop', 'kill'] as const) {
    it(`go on by themselves and lose nothing (${how})`, { timeout: 120_000 * SCALE }, () =>
      withServer(({ url, restart }) =>
        sceneOn(url, `PostgreSQL away for ${DOWN_MS / 1_000} s (${how})`, {}, async (scenario) => {
          for (let round = 0; round < SCALE; round++) {
            await scenario.enqueue(quick, 3_000);
            await scenario.enqueue(slow, 60);
            await sleep(700);
            await restart(DOWN_MS, how);
            // What counts is how soon they go on once the database is back.
            scenario.hurtAll();
          }
          await expectAllDone(scenario);
        }),
      ),
    );
  }
});
