import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { createDb } from '@millrace/db/client';
import { createPool } from '@millrace/db/pool';
import type pg from 'pg';

import type { Registry } from '../authoring/registry.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { startControlChannel } from './control/control-channel.ts';
import { createJobClient } from './enqueue-run.ts';
import { ABORT_GRACE_MS, type RunningExecution } from './execute-run.ts';
import { ExecutionGate } from './execution-gate.ts';
import { startHeartbeat } from './lease/heartbeat.ts';
import { startReaper } from './lease/reaper.ts';
import { type QueueRunner, runnerConnections, startQueueRunner } from './queues/queue-runner.ts';
import { cancelRequests } from './sql/leases.ts';
import { announceStop, registerWorker, removeWorker } from './sql/workers.ts';
import { createRunTransitions } from './transition-run.ts';
import { createDeliveryWork, endExecution, type WorkFloor } from './work-delivery.ts';
import type { WorkerOptions } from './worker.ts';

/** A worker under one id, from its registration until it signs off or is declared lost. */
export interface WorkerIncarnation {
  readonly id: string;
  readonly running: () => number;
  readonly lastHeartbeat: () => Date;
  stop(timeoutMs: number): Promise<void>;
  /** Ends without a word to the database: the lease is gone, others have the runs. */
  abandon(): Promise<void>;
}

const WRITER_CONNECTIONS = 4;
const HANDLER_CONNECTIONS = 10;
/** Longer than any statement of the engine takes; a connection that is silent for longer is dead. */
const STATEMENT_TIMEOUT_MS = 10_000;
const LEASE_STATEMENT_TIMEOUT_MS = 4_000;
const RESYNC_MS = 10_000;

/** Registers and starts the runners of the queues; `onLost` is called when the lease is lost. */
export async function startIncarnation(
  options: WorkerOptions,
  onLost: () => void,
): Promise<WorkerIncarnation> {
  const { registry, log } = options;
  const settings = settingsOf(registry, options.queues);
  const id = randomUUID();
  const definitions = [...registry.definitions.values()]
    .filter((definition) => definition.form === 'queued')
    .map((definition) => definition.name);
  const pools = createPools(options);
  const writers = pools.open('writers', WRITER_CONNECTIONS, STATEMENT_TIMEOUT_MS);
  const leases = pools.open('leases', 1, LEASE_STATEMENT_TIMEOUT_MS);

  let holdsLease = true;
  const floor: WorkFloor = {
    registry,
    log,
    executions: new Set<RunningExecution>(),
    gate: new ExecutionGate(),
    stopping: false,
    transitions: createRunTransitions({
      pool: writers,
      workerId: id,
      definitions,
      log,
      holdsLease: () => holdsLease,
    }),
    tools: {
      db: createDb(pools.open('handlers', HANDLER_CONNECTIONS)),
      enqueue: createJobClient({ pool: writers }).enqueue,
      log,
    },
  };

  const runners: QueueRunner[] = [];
  try {
    await writers.query(registerWorker, [
      id,
      hostname(),
      process.pid,
      options.version,
      [...settings.keys()],
      definitions,
    ]);
    for (const [queue, queueSettings] of settings) {
      runners.push(
        await startQueueRunner({
          queue,
          settings: queueSettings,
          pool: pools.open(queue, runnerConnections(queueSettings)),
          log: log.child({ queue }),
          pollIntervalMs: options.pollIntervalMs ?? 1_000,
          work: createDeliveryWork(floor, queueSettings),
        }),
      );
    }
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await writers.query(removeWorker, [id]).catch(() => undefined);
    await pools.close();
    throw error;
  }

  const heartbeat = startHeartbeat({
    pool: leases,
    workerId: id,
    poolIds: () => runners.flatMap((runner) => runner.poolIds()),
    log,
    onLost() {
      holdsLease = false;
      onLost();
    },
  });
  const reaper = startReaper({ pool: writers, heartbeat, log });
  const control = listenForCancels(floor, writers, options.databaseUrl);

  async function close(): Promise<void> {
    heartbeat.stop();
    reaper.stop();
    await control.stop();
    await pools.close();
  }

  return {
    id,
    running: () => floor.executions.size,
    lastHeartbeat: heartbeat.last,
    async stop(timeoutMs) {
      await writers.query(announceStop, [id]).catch(() => undefined);
      await stopFloor(floor, runners, timeoutMs, 'shutdown');
      // Never while a handler may still run: whoever ignored its signal ends with the process.
      await Promise.all(
        [...floor.executions].map(({ claimed }) => endExecution(floor, claimed, null)),
      );
      heartbeat.stop();
      await writers.query(removeWorker, [id]).catch((error: unknown) => {
        log.warn({ err: error }, 'the worker could not be signed off; its lease will expire');
      });
      await close();
    },
    async abandon() {
      await stopFloor(floor, runners, 0, 'lease-lost');
      await close();
    },
  };
}

interface Pools {
  readonly open: (use: string, max: number, statementTimeoutMs?: number) => pg.Pool;
  readonly close: () => Promise<unknown>;
}

function createPools({ databaseUrl, log }: WorkerOptions): Pools {
  const opened: pg.Pool[] = [];
  return {
    open(use, max, statementTimeoutMs) {
      const pool = createPool({
        connectionString: databaseUrl,
        max,
        applicationName: `millrace worker ${use}`,
        log,
        ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
      });
      opened.push(pool);
      return pool;
    },
    // A handler that ignores its signal may keep a connection for ever.
    close: () =>
      Promise.race([
        Promise.allSettled(opened.map((pool) => pool.end())),
        sleep(2_000, undefined, { ref: false }),
      ]),
  };
}

function settingsOf(
  registry: Registry,
  queues: readonly string[],
): ReadonlyMap<string, QueueSettings> {
  const unknown = queues.filter((queue) => !registry.queues.has(queue));
  if (unknown.length > 0) {
    const known = [...registry.queues.keys()].join(', ');
    throw new Error(`unknown queue ${unknown.join(', ')}: the code declares ${known}`);
  }
  return new Map(queues.map((queue) => [queue, registry.queues.get(queue) as QueueSettings]));
}

/** Aborts executions whose cancel was asked for, by notification and, as the floor, by looking. */
function listenForCancels(
  floor: WorkFloor,
  pool: pg.Pool,
  connectionString: string,
): { stop(): Promise<void> } {
  const cancel = (runId: string): void => {
    for (const execution of floor.executions) {
      if (execution.claimed.id === runId) execution.abort('cancelled');
    }
  };
  async function resync(): Promise<void> {
    if (floor.executions.size === 0) return;
    const ids = [...floor.executions].map(({ claimed }) => claimed.id);
    const { rows } = await pool.query<{ id: string }>({ ...cancelRequests, values: [ids] });
    for (const row of rows) cancel(row.id);
  }
  const look = (): void => {
    resync().catch((error: unknown) => floor.log.warn({ err: error }, 'resync failed'));
  };
  const control = startControlChannel({
    connectionString,
    applicationName: 'millrace worker control',
    log: floor.log,
    onMessage: (message) => {
      if ('cancel' in message) cancel(message.cancel);
    },
    onConnect: look,
  });
  const timer = setInterval(look, RESYNC_MS);
  return {
    async stop() {
      clearInterval(timer);
      await control.stop();
    },
  };
}

/** Waits for what runs, aborts it after the timeout, and returns when all has settled that will. */
async function stopFloor(
  floor: WorkFloor,
  runners: readonly QueueRunner[],
  timeoutMs: number,
  reason: 'shutdown' | 'lease-lost',
): Promise<void> {
  floor.stopping = true;
  const delivered = Promise.allSettled(runners.map((runner) => runner.stop()));
  await Promise.race([delivered, sleep(timeoutMs, undefined, { ref: false })]);
  for (const execution of floor.executions) execution.abort(reason);
  // Every execution settles within the grace; its ending hands the run back.
  await Promise.race([delivered, sleep(ABORT_GRACE_MS + 1_500, undefined, { ref: false })]);
}
