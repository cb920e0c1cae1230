import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { JobDefinition } from '@millrace/jobs/contract/definition';
import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import pg from 'pg';

import { check, type Finding } from './check.ts';
import { createFleet, type FleetOptions } from './fleet.ts';
import { createLedger } from './ledger.ts';

/** A blow that a scenario dealt from outside. */
export interface Fault {
  readonly at: Date;
  /** The process that was hurt; null for all of them. */
  readonly pid: number | null;
}

/** Worker processes at work, with the means to hurt them. */
export interface Scenario {
  readonly pool: pg.Pool;
  readonly workers: () => readonly ChildProcess[];
  /** A worker that is alive, by chance. */
  anyWorker(): ChildProcess | undefined;
  /** Starts one more; resolves when it has registered. */
  addWorker(): Promise<void>;
  /** Sends the signal to the worker, if there is one, and takes down the fault. */
  hurt(worker: ChildProcess | undefined, signal: NodeJS.Signals): void;
  /** Takes down a fault that hurts every worker now. */
  hurtAll(): void;
  readonly faults: readonly Fault[];
  enqueue(definition: JobDefinition, count: number, args?: object): Promise<void>;
  /** How many runs were enqueued. */
  readonly accepted: () => number;
  /** Whether no run is left to do within the time. */
  drained(withinMs: number): Promise<boolean>;
  /** How many runs are left to do. */
  backlog(): Promise<number>;
  /** What is left, in groups, to read when it did not drain. */
  unfinished(): Promise<string[]>;
  check(): Promise<Finding[]>;
  /** Ends all processes and connections. */
  end(): Promise<void>;
}

export interface ScenarioOptions extends Omit<FleetOptions, 'url'> {
  /** To begin with; 3 unless given. */
  readonly workers?: number;
}

const BATCH = 1_000;

export async function startScenario(
  url: string,
  { workers = 3, ...options }: ScenarioOptions = {},
): Promise<Scenario> {
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  await createLedger(pool);
  const client = createJobClient({ pool });
  const fleet = createFleet({ url, ...options });
  await Promise.all(Array.from({ length: workers }, () => fleet.start()));

  const faults: Fault[] = [];
  let accepted = 0;

  return {
    pool,
    workers: () => [...fleet.alive],
    anyWorker: () => [...fleet.alive][Math.floor(Math.random() * fleet.alive.size)],
    addWorker: () => fleet.start(),
    hurt(worker, signal) {
      if (worker?.pid === undefined) return;
      faults.push({ at: new Date(), pid: worker.pid });
      worker.kill(signal);
    },
    hurtAll: () => void faults.push({ at: new Date(), pid: null }),
    faults,
    async enqueue(definition, count, args = {}) {
      for (let left = count; left > 0; left -= BATCH) {
        const items = Array.from({ length: Math.min(left, BATCH) }, () => ({ definition, args }));
        await client.enqueueMany(items);
        accepted += items.length;
      }
    },
    accepted: () => accepted,
    async backlog() {
      const { rows } = await pool.query<{ live: number }>(
        'select count(*)::integer as live from millrace.runs where finished_at is null',
      );
      return rows[0]?.live ?? 0;
    },
    async drained(withinMs) {
      for (const until = Date.now() + withinMs; Date.now() < until; await sleep(100)) {
        if (!(await hasLiveRuns(pool))) return true;
      }
      return false;
    },
    unfinished: async () => {
      const { rows } = await pool.query<{ example: string }>(UNFINISHED);
      return rows.map(({ example }) => example);
    },
    check: () => check(pool, accepted),
    async end() {
      await fleet.end();
      await pool.end();
    },
  };
}

const UNFINISHED = `
  select format('%s %s: %s, losses %s, ticket %s, worker %s', r.definition, r.state, count(*), r.losses,
                min(case when t.ticket is null then 'gone' when t.locked_at is null then 'free' else 'held' end),
                coalesce(w.seen_at::text, 'none')) as example
    from millrace.runs r
    left join millrace.workers w on w.id = r.worker_id
    left join millrace.tickets() t on t.queue = r.queue and t.ticket = r.ticket
   where r.finished_at is null
   group by r.definition, r.state, r.losses, w.seen_at, t.ticket is null, t.locked_at is null`;

async function hasLiveRuns(pool: pg.Pool): Promise<boolean> {
  const query = 'select exists (select from millrace.runs where finished_at is null) as live';
  // While the database is away, nothing is known to be done.
  return pool.query<{ live: boolean }>(query).then(
    ({ rows }) => rows[0]?.live !== false,
    () => true,
  );
}
