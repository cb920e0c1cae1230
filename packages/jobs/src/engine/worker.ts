import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { createDb } from '@millrace/db/client';
import { createPool } from '@millrace/db/pool';
import type pg from 'pg';
import type { Logger } from 'pino';

import type { Registry } from '../authoring/registry.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { createJobClient } from './enqueue-run.ts';
import { ABORT_GRACE_MS, type RunningExecution } from './execute-run.ts';
import { startHeartbeat } from './lease/heartbeat.ts';
import { type QueueRunner, runnerConnections, startQueueRunner } from './queues/queue-runner.ts';
import { announceStop, registerWorker, removeWorker } from './sql/workers.ts';
import { createRunTransitions } from './transition-run.ts';
import { createDeliveryWork, endExecution, type WorkFloor } from './work-delivery.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  readonly registry: Registry;
  /** The queues whose runs this process executes. */
  readonly queues: readonly string[];
  readonly log: Logger;
  /** The deployed version, shown to operators. */
  readonly version: string;
  /** How long running attempts may go on after `stop`; 20 s unless given. */
  readonly stopTimeoutMs?: number;
  /** How often each runner looks for delayed work; 1 s unless given. */
  readonly pollIntervalMs?: number;
}

/** A worker that has registered and is executing runs. */
export interface RunningWorker {
  readonly id: string;
  /** How many handlers run now. */
  readonly running: () => number;
  /** When the database last took the heartbeat. */
  readonly lastHeartbeat: () => Date;
  /**
   * Takes no new work, waits for running attempts up to the stop timeout, aborts the rest and hands
   * back what does not end. The caller then ends the process: a handler that ignored its signal may
   * still be running.
   */
  stop(): Promise<void>;
}

const WRITER_CONNECTIONS = 4;
const HANDLER_CONNECTIONS = 10;
const WRITE_RETRY_MS = 15_000;

/** Starts a worker. Throws when a queue is unknown or the database cannot be reached. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { databaseUrl, registry, log } = options;
  const settings = settingsOf(registry, options.queues);
  const id = randomUUID();
  const definitions = [...registry.definitions.values()]
    .filter((definition) => definition.form === 'queued')
    .map((definition) => definition.name);

  const pools: pg.Pool[] = [];
  const pool = (use: string, max: number): pg.Pool => {
    const created = createPool({
      connectionString: databaseUrl,
      max,
      applicationName: `millrace worker ${use}`,
      log,
    });
    pools.push(created);
    return created;
  };
  const writers = pool('writers', WRITER_CONNECTIONS);
  const handlers = pool('handlers', HANDLER_CONNECTIONS);

  const executions = new Set<RunningExecution>();
  const floor: WorkFloor = {
    registry,
    executions,
    log,
    stopping: false,
    transitions: createRunTransitions({
      pool: writers,
      workerId: id,
      definitions,
      log,
      retryForMs: WRITE_RETRY_MS,
    }),
    tools: {
      db: createDb(handlers),
      enqueue: createJobClient({ pool: writers }).enqueue,
      log,
    },
  };

  const runners: QueueRunner[] = [];
  const closePools = (): Promise<unknown> => Promise.allSettled(pools.map((each) => each.end()));
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
          pool: pool(queue, runnerConnections(queueSettings)),
          log: log.child({ queue }),
          pollIntervalMs: options.pollIntervalMs ?? 1_000,
          work: createDeliveryWork(floor, queueSettings),
        }),
      );
    }
  } catch (error) {
    await Promise.allSettled(runners.map((runner) => runner.stop()));
    await writers.query(removeWorker, [id]).catch(() => undefined);
    await closePools();
    throw error;
  }
  const heartbeat = startHeartbeat({
    pool: writers,
    workerId: id,
    poolIds: () => runners.flatMap((runner) => runner.poolIds),
    log,
  });

  let stopped: Promise<void> | undefined;
  return {
    id,
    running: () => executions.size,
    lastHeartbeat: heartbeat.last,
    stop() {
      stopped ??= stopWorker(floor, runners, options.stopTimeoutMs ?? 20_000, writers, id).finally(
        async () => {
          heartbeat.stop();
          await writers.query(removeWorker, [id]).catch((error: unknown) => {
            log.warn({ err: error }, 'the worker could not be signed off; its lease will expire');
          });
          await closePools();
        },
      );
      return stopped;
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

async function stopWorker(
  floor: WorkFloor,
  runners: readonly QueueRunner[],
  stopTimeoutMs: number,
  writers: pg.Pool,
  id: string,
): Promise<void> {
  floor.stopping = true;
  await writers.query(announceStop, [id]).catch(() => undefined);
  const delivered = Promise.allSettled(runners.map((runner) => runner.stop()));

  await Promise.race([delivered, sleep(stopTimeoutMs, undefined, { ref: false })]);
  for (const execution of floor.executions) execution.abort('shutdown');
  // Every execution settles within the grace; its ending hands the run back.
  await Promise.race([delivered, sleep(ABORT_GRACE_MS + 1_500, undefined, { ref: false })]);
  await Promise.all(
    [...floor.executions].map((execution) => endExecution(floor, execution.claimed, null)),
  );
}
