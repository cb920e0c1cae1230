import { migrationsPending } from '@millrace/db/migrations-pending';
import { createPool } from '@millrace/db/pool';
import { observeEventLoop } from '@millrace/jobs/engine/telemetry/observe-event-loop';
import { observeQueues } from '@millrace/jobs/engine/telemetry/observe-queues';
import { observeWorker } from '@millrace/jobs/engine/telemetry/observe-worker';
import { startWorker } from '@millrace/jobs/engine/worker';
import { workerRegistry } from '@millrace/jobs/registry/worker-registry';
import { startTelemetry, wantsTracing } from '@millrace/telemetry/start-telemetry';
import { pino } from 'pino';

import packageJson from '../package.json' with { type: 'json' };
import { endWithSignals, type Stop } from './end-with-signals.ts';
import { parseQueues, readEnv } from './env.ts';
import { failStart } from './fail-start.ts';
import { type Readiness, startHealthServer } from './health-server.ts';

/** After this long without a heartbeat the process is not ready. */
const HEARTBEAT_AGE_MS = 10_000;
const CHECK_STATEMENT_MS = 3_000;

async function main(): Promise<void> {
  const env = readEnv();
  const queues = parseQueues(process.argv.slice(2));
  const log = pino({ level: env.LOG_LEVEL, base: { process: 'worker', pid: process.pid } });

  const checks = createPool({
    connectionString: env.DATABASE_URL,
    max: 1,
    statementTimeoutMs: CHECK_STATEMENT_MS,
    applicationName: 'millrace worker checks',
    log,
  });
  const pending = (): Promise<string[]> =>
    migrationsPending(checks, [...workerRegistry.queues.keys()]);
  const missing = await pending();
  if (missing.length > 0) {
    throw new Error(`The database lacks migrations (${missing.join(', ')}): run pnpm migrate`);
  }

  // Before the worker, whose instruments are those of what is registered.
  const telemetry = await startTelemetry({
    service: 'millrace-worker',
    tracing: wantsTracing(env),
    onFault: (error) => log.warn({ err: error }, 'telemetry failed'),
  });
  const worker = await startWorker({
    databaseUrl: env.DATABASE_URL,
    registry: workerRegistry,
    queues,
    log,
    version: packageJson.version,
  });
  observeEventLoop();
  observeWorker(worker);
  observeQueues({ pool: checks, queues });
  let stopping = false;
  const readiness = async (): Promise<Readiness> => {
    if (stopping) return { ready: false, detail: 'stopping' };
    if (Date.now() - worker.lastHeartbeat().getTime() > HEARTBEAT_AGE_MS) {
      return { ready: false, detail: 'the database does not take the heartbeat' };
    }
    const names = await pending();
    return names.length > 0
      ? { ready: false, detail: `migrations pending: ${names.join(', ')}` }
      : { ready: true, detail: 'ok' };
  };
  const health = await startHealthServer(env.HEALTH_PORT, readiness, telemetry.metricsPage);
  log.info({ workerId: worker.id(), queues }, 'worker ready');

  const stop: Stop = async (why, exitCode, timeoutMs) => {
    if (stopping) return;
    stopping = true;
    log.info({ why, running: worker.running() }, 'worker stopping');
    await worker.stop({ timeoutMs });
    health.close();
    await Promise.all([checks.end(), telemetry.shutdown()]);
    log.info('worker stopped');
    // A handler that ignores its signal must not outlive the hand-back of its run.
    process.exit(exitCode);
  };
  endWithSignals(stop, env.STOP_TIMEOUT_MS, log);
}

await main().catch(failStart);
