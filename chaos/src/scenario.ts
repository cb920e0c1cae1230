import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { JobDefinition } from '@millrace/jobs/contract/definition';
import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import pg from 'pg';

import { check, type Finding } from './check.ts';
import type { Safeguard } from './break-safeguard.ts';
import { createLedger } from './ledger.ts';

/** Worker processes over one database, with the means to hurt them. */
export interface Scenario {
  readonly pool: pg.Pool;
  readonly workers: readonly ChildProcess[];
  /** Starts one more worker; resolves when it has registered. */
  startWorker(options?: { queues?: string; broken?: Safeguard }): Promise<ChildProcess>;
  /** A worker that is alive, by chance. */
  anyWorker(): ChildProcess | undefined;
  enqueue(definition: JobDefinition, count: number): Promise<void>;
  /** Whether no run is left to do within the time. */
  drained(withinMs: number): Promise<boolean>;
  check(): Promise<Finding[]>;
  /** Ends all processes and connections. */
  end(): Promise<void>;
}

export interface ScenarioOptions {
  readonly workers?: number;
  /** Whether a worker that ended is followed by another. */
  readonly respawn?: boolean;
  /** Taken away in every worker. */
  readonly broken?: Safeguard;
  readonly leaseMs?: number;
}

export async function startScenario(url: string, options: ScenarioOptions = {}): Promise<Scenario> {
  const { workers = 3, respawn = false, broken, leaseMs = 15_000 } = options;
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  await createLedger(pool);
  const client = createJobClient({ pool });
  const alive = new Set<ChildProcess>();
  let ending = false;

  async function startWorker(
    worker: { queues?: string; broken?: Safeguard } = {},
  ): Promise<ChildProcess> {
    const child = fork(join(import.meta.dirname, 'worker-process.ts'), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        DATABASE_URL: url,
        LEASE_MS: String(leaseMs),
        ...(worker.queues && { QUEUES: worker.queues }),
        ...(worker.broken && { BREAK: worker.broken }),
      },
    });
    alive.add(child);
    child.once('exit', () => {
      alive.delete(child);
      if (respawn && !ending) {
        void sleep(200).then(() => (ending ? undefined : startWorker(worker)));
      }
    });
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    return child;
  }

  await Promise.all(Array.from({ length: workers }, () => startWorker(broken ? { broken } : {})));
  return {
    pool,
    get workers() {
      return [...alive];
    },
    startWorker,
    anyWorker: () => [...alive][Math.floor(Math.random() * alive.size)],
    async enqueue(definition, count) {
      for (let left = count; left > 0; left -= 1_000) {
        await client.enqueueMany(
          Array.from({ length: Math.min(left, 1_000) }, () => ({ definition, args: {} })),
        );
      }
    },
    async drained(withinMs) {
      const until = Date.now() + withinMs;
      while (Date.now() < until) {
        const { rows } = await pool
          .query<{ left: boolean }>(
            'select exists (select from millrace.runs where finished_at is null) as left',
          )
          .catch(() => ({ rows: [{ left: true }] }));
        if (rows[0]?.left === false) return true;
        await sleep(100);
      }
      return false;
    },
    check: () => check(pool),
    async end() {
      ending = true;
      await Promise.all(
        [...alive].map(async (child) => {
          const exited = once(child, 'exit');
          child.kill('SIGKILL');
          await exited;
        }),
      );
      await pool.end();
    },
  };
}
