import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { migrate } from '@millrace/db/migrate';
import { type EmbeddedPostgres, startPostgres } from '@millrace/local/embedded-postgres';
import { describe, expect, it } from 'vitest';

import { quick, slow } from './jobs.ts';
import { startScenario } from './scenario.ts';

const SCALE = Number(process.env['CHAOS_SCALE'] ?? 1);
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
      withServer(async ({ url, restart }) => {
        const scenario = await startScenario(url, { leaseMs: 2_000 });
        try {
          for (let round = 0; round < SCALE; round++) {
            await scenario.enqueue(quick, 3_000);
            await scenario.enqueue(slow, 60);
            await sleep(700);
            await restart(3_000, how);
          }
          await scenario.drained(60_000);
          expect(await scenario.unfinished()).toEqual([]);
          expect(await scenario.check()).toEqual([]);
        } finally {
          await scenario.end();
        }
      }),
    );
  }
});
