import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Safeguard } from './break-safeguard.ts';

/** Worker processes over one database. */
export interface Fleet {
  readonly alive: ReadonlySet<ChildProcess>;
  /** Starts one more worker; resolves when it has registered, rejects when it ends before. */
  start(): Promise<void>;
  /** Kills all of them. */
  end(): Promise<void>;
}

export interface FleetOptions {
  readonly url: string;
  /** The product's own when undefined. */
  readonly leaseMs?: number | undefined;
  /** Whether a worker that ended is followed by another. */
  readonly respawn?: boolean | undefined;
  /** Taken away in every worker. */
  readonly broken?: Safeguard | undefined;
  /** `default` and `batch` unless given. */
  readonly queues?: readonly string[] | undefined;
  /** Further options of node. */
  readonly execArgv?: readonly string[] | undefined;
  /** Keeps workers from writing to our stderr: V8 writes a page when it runs out of memory. */
  readonly quiet?: boolean | undefined;
}

const RESPAWN_MS = 200;

export function createFleet(options: FleetOptions): Fleet {
  const alive = new Set<ChildProcess>();
  let ending = false;

  async function start(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'worker-process.ts'), {
      stdio: ['ignore', 'ignore', options.quiet ? 'ignore' : 'inherit', 'ipc'],
      execArgv: [...process.execArgv, ...(options.execArgv ?? [])],
      env: { ...process.env, ...environment(options) },
    });
    alive.add(child);
    child.once('exit', () => {
      alive.delete(child);
      if (options.respawn && !ending)
        void sleep(RESPAWN_MS)
          .then(() => (ending ? undefined : start()))
          .catch(() => undefined); // it was hurt while it started; another follows
    });
    const ready = await Promise.race([
      once(child, 'message').then(() => true),
      once(child, 'exit').then(() => false),
    ]);
    if (!ready) throw new Error('a worker ended before it was ready');
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

function environment({ url, leaseMs, broken, queues }: FleetOptions): Record<string, string> {
  return {
    DATABASE_URL: url,
    ...(leaseMs !== undefined && { LEASE_MS: String(leaseMs) }),
    ...(broken && { BREAK: broken }),
    ...(queues && { QUEUES: queues.join(',') }),
  };
}
