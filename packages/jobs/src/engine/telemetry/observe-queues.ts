import { metrics } from '@opentelemetry/api';
import type pg from 'pg';

import { queueDepth, type QueueDepthRow } from '../sql/queue-depth.ts';
import { SCOPE_NAME } from './run-metrics.ts';

const READ_EVERY_MS = 5_000;
/** Beyond this many live runs a queue is simply long. */
const MAX_COUNTED = 10_000;

/**
 * Gauges of what waits and runs in the queues, read from the database when metrics are collected, at
 * most every 5 s. Of each queue the 10,000 oldest live runs are counted.
 */
export function observeQueues(options: {
  readonly pool: Pick<pg.Pool, 'query'>;
  readonly queues: readonly string[];
}): void {
  const meter = metrics.getMeter(SCOPE_NAME);
  const runs = meter.createObservableGauge('millrace_queue_runs', {
    description: `Live runs by queue and state, of each queue at most ${MAX_COUNTED}.`,
  });
  const oldestWait = meter.createObservableGauge('millrace_queue_oldest_wait_seconds', {
    description: 'How long the run that has been due the longest waits.',
    unit: 's',
  });
  const read = cached(async () => {
    const values = [options.queues, MAX_COUNTED];
    const { rows } = await options.pool.query<QueueDepthRow>({ ...queueDepth, values });
    return rows;
  });
  meter.addBatchObservableCallback(
    async (observer) => {
      for (const { queue, queued, scheduled, running, oldest_wait_s } of await read()) {
        observer.observe(runs, queued, { queue, state: 'queued' });
        observer.observe(runs, scheduled, { queue, state: 'scheduled' });
        observer.observe(runs, running, { queue, state: 'running' });
        observer.observe(oldestWait, oldest_wait_s, { queue });
      }
    },
    [runs, oldestWait],
  );
}

/** A failure is remembered as well: a database in trouble is not asked by every scrape. */
function cached<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let reading: Promise<Result> | undefined;
  let readAt = -Infinity;
  return () => {
    const now = performance.now();
    if (!reading || now - readAt >= READ_EVERY_MS) {
      readAt = now;
      reading = read();
    }
    return reading;
  };
}
