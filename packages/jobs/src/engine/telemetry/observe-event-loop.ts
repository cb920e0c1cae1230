import { monitorEventLoopDelay } from 'node:perf_hooks';

import { metrics } from '@opentelemetry/api';

import { SCOPE_NAME } from './run-metrics.ts';

const RESOLUTION_MS = 20;

/** A gauge of how late this process's event loop was since the last collection: p99 and maximum. */
export function observeEventLoop(): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  // The histogram holds the whole interval between two looks, of which the resolution is no delay.
  const lagS = (ns: number): number =>
    Number.isFinite(ns) ? Math.max(0, ns / 1e9 - RESOLUTION_MS / 1_000) : 0;
  metrics
    .getMeter(SCOPE_NAME)
    .createObservableGauge('millrace_event_loop_lag_seconds', {
      description: 'How late the event loop was since the last collection.',
      unit: 's',
    })
    .addCallback((result) => {
      result.observe(lagS(delay.percentile(99)), { quantile: '0.99' });
      result.observe(lagS(delay.max), { quantile: '1' });
      delay.reset();
    });
}
