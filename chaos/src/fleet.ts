import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Safeguard } from './break-safeguard.ts';

/** Worker processes over one database. */
export interface Fleet {
  readonly alive: ReadonlySet<ChildProcess>;
  /** Starts one more worker; resolves when it has registered. */
  start(): Promise<void>;
  /** Kills all of them. */
  end(): Promise<void>;
}

export interface FleetOptions {
  readonly url: string;
  readonly leaseMs: number;
  /** Whether a worker that ended is followed by another. */
  readonly respawn: boolean;
  /** Taken away in every worker. */
  readonly broken: Safeguard | undefined;
}

const RESPAWN_MS = 200;

export function createFleet(options: FleetOptions): Fleet {
  const alive = new Set<ChildProcess>();
  let ending = false;

  async function start(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'worker-process.ts'), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        DATABASE_URL: options.url,
        LEASE_MS: String(options.leaseMs),
        ...(options.broken && { BREAK: options.broken }),
      },
    });
    alive.add(child);
    child.once('exit', () => {
      alive.delete(child);
      if (options.respawn && !ending)
        void sleep(RESPAWN_MS).then(() => (ending ? undefined : start()));
    });
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
  }

  return {
    alive,
    start,
    async end() {
      ending = true;
      await Promise.all(
        [...alive].map(async (child) => {
          const exited = once(child, 'exit');
          child.kill('SIGKILL');
          await exited;
        }),
      );
    },
  };
}
