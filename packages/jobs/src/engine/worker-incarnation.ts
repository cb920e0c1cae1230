import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { createDb } from '@millrace/db/client';

import type { Registry } from '../authoring/registry.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { listenForCancels } from './control/listen-for-cancels.ts';
import { createJobClient } from './enqueue-run.ts';
import { ABORT_GRACE_MS } from './execute-run.ts';
import { ExecutionGate } from './execution-gate.ts';
import { LEASE_MS, startHeartbeat } from './lease/heartbeat.ts';
import { startReaper } from './lease/reaper.ts';
import { type QueueRunner, runnerConnections, startQueueRunner } from './queues/queue-runner.ts';
import { announceStop, registerWorker, removeWorker } from './sql/workers.ts';
import { createRunTransitions } from './transition-run.ts';
import {
  createDeliveryWork,
  dismissWaiting,
  endExecution,
  type WorkFloor,
} from './work-delivery.ts';
import type { WorkerOptions } from './worker-options.ts';
import { openWorkerPools, type WorkerPools } from './worker-pools.ts';

/** A worker under one id, from its registration until it signs off or is declared lost. */
export interface WorkerIncarnation {
  readonly id: string;
  readonly running: () => number;
  readonly lastHeartbeat: () => Date;
  stop(timeoutMs: number): Promise<void>;
  /** Ends without a word to the database: the lease is gone, others have the runs. */
  abandon(): Promise<void>;
}

/** Registers and starts the runners of the queues; `onLost` is called when the lease is lost. */
export async function startIncarnation(
  options: WorkerOptions,
  onLost: () => void,
): Promise<WorkerIncarnation> {
  const { log, leaseMs = LEASE_MS } = options;
  const id = randomUUID();
  const settings = settingsOf(options.registry, options.queues);
  const lease = { held: true };
  const pools = openWorkerPools(options);
  const { writers } = pools;
  const floor = createFloor(id, options, pools, lease);
  const runners = await startRunners(id, options, settings, pools, floor);

  const heartbeat = startHeartbeat({
    pool: pools.leases,
    workerId: id,
    leaseMs,
    poolIds: () => runners.flatMap((runner) => runner.poolIds()),
    log,
    onLost() {
      lease.held = false;
      onLost();
    },
  });
  const reaper = startReaper({ pool: writers, heartbeat, leaseMs, log });
  const cancels = listenForCancels(floor, writers, options.databaseUrl);

  async function close(): Promise<void> {
    heartbeat.stop();
    reaper.stop();
    await cancels.stop();
    await pools.close();
  }
  return {
    id,
    running: () => floor.executions.size,
    lastHeartbeat: heartbeat.last,
    async stop(timeoutMs) {
      await writers.query(announceStop, [id]).catch(() => undefined);
      await clearFloor(floor, runners, timeoutMs, 'shutdown');
      // What ignored its signal until now ends with the process, right after this.
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
      await clearFloor(floor, runners, 0, 'lease-lost');
      await close();
    },
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

function createFloor(
  workerId: string,
  { registry, log }: WorkerOptions,
  { writers, handlers }: WorkerPools,
  lease: { readonly held: boolean },
): WorkFloor {
  return {
    registry,
    log,
    executions: new Set(),
    gate: new ExecutionGate(),
    strands: new Set(),
    stopping: false,
    transitions: createRunTransitions({
      pool: writers,
      workerId,
      definitions: runnableNames(registry),
      log,
      holdsLease: () => lease.held,
    }),
    tools: { db: createDb(handlers), enqueue: createJobClient({ pool: writers }).enqueue, log },
  };
}

function runnableNames(registry: Registry): string[] {
  return [...registry.definitions.values()]
    .filter(({ form }) => form === 'queued')
    .map(({ name }) => name);
}

async function startRunners(
  id: string,
  options: WorkerOptions,
  settings: ReadonlyMap<string, QueueSettings>,
  pools: WorkerPools,
  floor: WorkFloor,
): Promise<readonly QueueRunner[]> {
  const { registry, log, version, pollIntervalMs = 1_000 } = options;
  const runners: QueueRunner[] = [];
  const identity = [id, hostname(), process.pid, version];
  try {
    await pools.writers.query(registerWorker, [
      ...identity,
      [...settings.keys()],
      runnableNames(registry),
    ]);
    for (const [queue, queueSettings] of settings) {
      runners.push(
        await startQueueRunner({
          queue,
          settings: queueSettings,
          pool: pools.runner(queue, runnerConnections(queueSettings)),
          log: log.child({ queue }),
          pollIntervalMs,
          work: createDeliveryWork(floor, queueSettings),
        }),
      );
    }
    return runners;
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await pools.writers.query(removeWorker, [id]).catch(() => undefined);
    await pools.close();
    throw error;
  }
}

/** Waits for what runs, aborts it after the timeout, and returns when all has settled that will. */
async function clearFloor(
  floor: WorkFloor,
  runners: readonly QueueRunner[],
  timeoutMs: number,
  reason: 'shutdown' | 'lease-lost',
): Promise<void> {
  floor.stopping = true;
  dismissWaiting(floor);
  const delivered = Promise.allSettled(runners.map((runner) => runner.stop()));
  await Promise.race([delivered, sleep(timeoutMs, undefined, { ref: false })]);
  for (const execution of floor.executions) execution.abort(reason);
  // Every execution settles within the grace; its ending hands the run back.
  await Promise.race([delivered, sleep(ABORT_GRACE_MS + 1_500, undefined, { ref: false })]);
}
