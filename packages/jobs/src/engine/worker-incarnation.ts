import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { createDb } from '@millrace/db/client';

import type { Registry } from '../authoring/registry.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { createControlState } from './control/control-state.ts';
import { listenForControl } from './control/listen-for-control.ts';
import { createNotesWriter } from './context/notes-writer.ts';
import { endExecution } from './end-execution.ts';
import { createJobClient } from './enqueue-run.ts';
import { ABORT_GRACE_MS } from './execute-run.ts';
import { ExecutionGate } from './execution-gate.ts';
import { LEASE_MS, startHeartbeat } from './lease/heartbeat.ts';
import { startReaper } from './lease/reaper.ts';
import { startBulkActions } from './maintenance/run-bulk-actions.ts';
import { type QueueRunner, runnerConnections, startQueueRunner } from './queues/queue-runner.ts';
import { publishDefinitions } from './publish-definitions.ts';
import { startSchedules } from './schedule/run-schedules.ts';
import { announceStop, registerWorker, removeWorker } from './sql/workers.ts';
import { runMetrics } from './telemetry/run-metrics.ts';
import { createRunTransitions } from './transition-run.ts';
import {
  createDeliveryWork,
  dismissWaiting,
  type QueueLoad,
  type WorkFloor,
} from './work-delivery.ts';
import type { WorkerOptions } from './worker-options.ts';
import { openWorkerPools, type WorkerPools } from './worker-pools.ts';

/** A worker under one id, from its registration until it signs off or is declared lost. */
export interface WorkerIncarnation {
  readonly id: string;
  readonly running: () => number;
  /** By queue. */
  readonly load: () => ReadonlyMap<string, Readonly<QueueLoad>>;
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
  const applyHolds = (): void =>
    runners.forEach((runner) => runner.hold(floor.control.isHeld(runner.queue)));
  const floor = createFloor(id, options, pools, { lease, onControl: () => applyHolds() });
  const runners: QueueRunner[] = [];
  runners.push(...(await startRunners(id, options, settings, pools, floor)));
  applyHolds();

  const heartbeat = startHeartbeat({
    pool: pools.leases,
    workerId: id,
    leaseMs,
    log,
    poolIds: () => runners.flatMap((runner) => runner.poolIds()),
    onLost() {
      lease.held = false;
      onLost();
    },
  });
  const { registry } = options;
  const stopDuties = startDuties({ pool: writers, registry, heartbeat, leaseMs, log });
  const control = listenForControl(floor, writers, options.databaseUrl, () =>
    runners.forEach((runner) => runner.renew()),
  );

  async function close(): Promise<void> {
    heartbeat.stop();
    stopDuties();
    await control.stop();
    await pools.close();
  }
  return {
    id,
    running: () => floor.executions.size,
    load: () => floor.load,
    lastHeartbeat: heartbeat.last,
    async stop(timeoutMs) {
      await writers.query(announceStop, [id]).catch(() => undefined);
      await clearFloor(floor, runners, timeoutMs, 'shutdown');
      await handBackRest(floor);
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

/** What ignored its signal until now ends with the process, right after this. */
async function handBackRest(floor: WorkFloor): Promise<void> {
  await Promise.all(
    [...floor.executions].map((execution) =>
      endExecution(floor, { claimed: execution.claimed, settled: null, execution }),
    ),
  );
}

/** What every worker does beside its runs. */
function startDuties(
  options: Parameters<typeof startReaper>[0] & Parameters<typeof startSchedules>[0],
): () => void {
  const duties = [startReaper(options), startBulkActions(options), startSchedules(options)];
  return () => {
    for (const duty of duties) duty.stop();
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
  { writers, handlers, notes }: WorkerPools,
  { lease, onControl }: { lease: { readonly held: boolean }; onControl: () => void },
): WorkFloor {
  const control = createControlState({ pool: writers, workerId, log, onRead: onControl });
  return {
    control,
    registry,
    log,
    metrics: runMetrics(),
    executions: new Set(),
    load: new Map(),
    gate: new ExecutionGate(),
    strands: new Set(),
    stopping: false,
    transitions: createRunTransitions({
      pool: writers,
      workerId,
      definitions: runnableNames(registry),
      log,
      versions: () => control.versions(),
      holdsLease: () => lease.held,
    }),
    tools: {
      db: createDb(handlers),
      enqueue: createJobClient({ pool: writers }).enqueue,
      log,
      notes: createNotesWriter({ pool: notes, log }),
    },
  };
}

/** Runs that were enqueued under a former name are executed as well. */
function runnableNames(registry: Registry): string[] {
  return [...registry.definitions.values()]
    .filter(({ form }) => form === 'queued')
    .flatMap(({ name, formerNames }) => [name, ...formerNames]);
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
      JSON.stringify(
        Object.fromEntries([...settings].map(([queue, { concurrency }]) => [queue, concurrency])),
      ),
    ]);
    await publishDefinitions(pools.writers, registry, version);
    await floor.control.refresh();
    for (const [queue, queueSettings] of settings) {
      runners.push(
        await startQueueRunner({
          queue,
          settings: queueSettings,
          held: floor.control.isHeld(queue),
          pool: pools.runner(queue, runnerConnections(queueSettings)),
          log: log.child({ queue }),
          pollIntervalMs,
          work: createDeliveryWork(floor, queue, queueSettings),
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
