import { observeEventLoop } from '@millrace/jobs/engine/telemetry/observe-event-loop';
import { observeQueues } from '@millrace/jobs/engine/telemetry/observe-queues';
import { startTelemetry, type Telemetry, wantsTracing } from '@millrace/telemetry/start-telemetry';

import type { WebEnv } from '../env.ts';
import { webServer } from './jobs.ts';

// As with the server's parts: one per process, in whichever bundle it is asked for.
const shared = globalThis as { millraceTelemetry?: Telemetry };

/** Registers what this process measures and traces; before the first request. */
export async function startWebTelemetry(env: WebEnv): Promise<void> {
  shared.millraceTelemetry ??= await startTelemetry({
    service: 'millrace-web',
    tracing: wantsTracing(env),
    onFault: (error) => webServer().log.warn({ err: error }, 'telemetry failed'),
  });
  observeEventLoop();
  const { pool, registry } = webServer();
  observeQueues({ pool, queues: [...registry.queues.keys()] });
}

/** What this process measured, as Prometheus reads it; empty before telemetry has started. */
export function metricsPage(): Promise<string> {
  return shared.millraceTelemetry?.metricsPage() ?? Promise.resolve('');
}
