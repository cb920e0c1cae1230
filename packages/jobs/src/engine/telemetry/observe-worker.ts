import { metrics } from '@opentelemetry/api';

import type { RunningWorker } from '../worker.ts';
import { SCOPE_NAME } from './run-metrics.ts';

/** Gauges of what a worker has in hand, and of how long ago the database took its heartbeat. */
export function observeWorker(worker: Pick<RunningWorker, 'load' | 'lastHeartbeat'>): void {
  const meter = metrics.getMeter(SCOPE_NAME);
  const running = meter.createObservableGauge('millrace_running', {
    description: 'Handlers that this process executes now.',
  });
  const claimed = meter.createObservableGauge('millrace_claimed', {
    description: 'Runs of this process between claim and end, those that are running included.',
  });
  running.addCallback((result) => {
    for (const [queue, load] of worker.load()) result.observe(load.running, { queue });
  });
  claimed.addCallback((result) => {
    for (const [queue, load] of worker.load()) result.observe(load.claimed, { queue });
  });
  meter
    .createObservableGauge('millrace_heartbeat_age_seconds', {
      description: "Since the database last took this worker's heartbeat.",
      unit: 's',
    })
    .addCallback((result) => {
      result.observe(Math.max(0, Date.now() - worker.lastHeartbeat().getTime()) / 1_000);
    });
}
