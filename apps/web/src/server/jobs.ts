import { createDb, type Db } from '@millrace/db/client';
import { createPool, type Pool } from '@millrace/db/pool';
import { createJobWaiters, type JobWaiters } from '@millrace/jobs/engine/scheduler/job-waiters';
import { createHttpMetrics } from '@millrace/jobs/engine/telemetry/http-metrics';
import { createRunInline } from '@millrace/jobs/engine/scheduler/run-inline';
import { createTriggerJob } from '@millrace/jobs/engine/scheduler/trigger-job';
import { webRegistry } from '@millrace/jobs/registry/web-registry';
import { type Logger, pino } from 'pino';

import { readEnv, type WebEnv } from '../env.ts';

/** What the routes of this process share. */
export interface WebServer {
  readonly env: WebEnv;
  readonly log: Logger;
  readonly pool: Pool;
  readonly db: Db;
  readonly registry: typeof webRegistry;
  readonly waiters: JobWaiters;
  readonly triggerJob: ReturnType<typeof createTriggerJob>;
  readonly runInline: ReturnType<typeof createRunInline>;
  readonly measureHttp: ReturnType<typeof createHttpMetrics>;
}

const CONNECTIONS = 10;
/** With the time for a connection: the caller gets its 503 within 5 s. */
const STATEMENT_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 2_000;
const MAX_WAITERS = 500;

function createWebServer(): WebServer {
  const env = readEnv();
  const log = pino({ level: env.LOG_LEVEL, base: { process: 'web', pid: process.pid } });
  const pool = createPool({
    connectionString: env.DATABASE_URL,
    max: CONNECTIONS,
    applicationName: 'millrace web',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    log,
  });
  const inlinePool = createPool({
    connectionString: env.DATABASE_URL,
    max: CONNECTIONS,
    applicationName: 'millrace web inline',
    log,
  });
  const { loadInlineHandler } = webRegistry;
  if (!loadInlineHandler) throw new Error('the web registry has no inline handlers');
  return {
    env,
    log,
    pool,
    db: createDb(pool),
    registry: webRegistry,
    waiters: createJobWaiters({
      connectionString: env.DATABASE_URL,
      log,
      maxWaiters: MAX_WAITERS,
    }),
    triggerJob: createTriggerJob(pool),
    runInline: createRunInline({
      pool,
      db: createDb(inlinePool),
      log,
      loadHandler: loadInlineHandler,
    }),
    measureHttp: createHttpMetrics(),
  };
}

// Next.js may load this module once per bundle: the process has one server all the same.
const shared = globalThis as { millraceWebServer?: WebServer };

/** The server's parts, made at the first call. */
export function webServer(): WebServer {
  return (shared.millraceWebServer ??= createWebServer());
}
