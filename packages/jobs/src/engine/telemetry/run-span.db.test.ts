import { useDatabase } from '@millrace/db/testing';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { beforeAll, describe, expect, it } from 'vitest';

import { flaky, ok, parent, slow, throwing } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useTelemetry } from '../../testing/use-telemetry.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { createJobClient, type JobClient } from '../enqueue-run.ts';
import { observeQueues } from './observe-queues.ts';
import { observeWorker } from './observe-worker.ts';

const telemetry = useTelemetry();
const database = useDatabase();
const start = useWorkers(database);
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});

const spansOf = (definition: string, count = 1) =>
  until(`${count} spans of ${definition}`, () => {
    const spans = telemetry.spans().filter(({ name }) => name === `job ${definition}`);
    return spans.length >= count && spans;
  });
const stored = async (id: string) => {
  const { context } = await database.db.run.findUniqueOrThrow({ where: { id } });
  return context as Record<string, unknown>;
};
const actor = { kind: 'user', id: 'u-1', label: 'Ann', orgId: 'o-1' } as const;

describe('the span of a run', () => {
  it('is a child of the trace that enqueued it, and says what it executed', async () => {
    await start();
    const [request, run] = await trace
      .getTracer('test')
      .startActiveSpan('request', async (span) => {
        const enqueued = await client.enqueue(ok, { note: 'hello' });
        span.end();
        return [span.spanContext(), enqueued] as const;
      });
    expect(await stored(run.runId)).toEqual({
      traceparent: `00-${request.traceId}-${request.spanId}-01`,
    });
    const [span] = await spansOf(ok.name);
    expect(span).toMatchObject({
      kind: SpanKind.CONSUMER,
      parentSpanContext: { traceId: request.traceId, spanId: request.spanId, isRemote: true },
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'messaging.system': 'millrace',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'default',
        'messaging.message.id': run.runId,
        'millrace.run.id': run.runId,
        'millrace.definition': ok.name,
        'millrace.queue': 'default',
        'millrace.trigger': 'app',
        'millrace.execution': 1,
        'millrace.attempt': 1,
        'millrace.outcome': 'succeeded',
      },
    });
    expect(span!.spanContext().traceId).toBe(request.traceId);
  });

  it('is the parent of what the handler enqueues, for the same actor and request', async () => {
    await start();
    const context = { requestId: 'r-7', actor };
    await client.enqueue(parent, {}, { context });
    const [above] = await spansOf(parent.name);
    const [below] = await spansOf(ok.name);
    expect(below!.parentSpanContext?.spanId).toBe(above!.spanContext().spanId);
    expect(below!.spanContext().traceId).toBe(above!.spanContext().traceId);
    const child = await stored(String(below!.attributes['millrace.run.id']));
    expect(child).toMatchObject(context);
  });

  it('begins a trace where there was none', async () => {
    await start();
    await client.enqueue(ok, {});
    const [span] = await spansOf(ok.name);
    expect(span!.parentSpanContext).toBeUndefined();
  });

  it('tells the error of each attempt', async () => {
    await start();
    await client.enqueue(flaky, { failures: 2 });
    const spans = await spansOf(flaky.name, 3);
    expect(spans.map(({ attributes }) => attributes['millrace.outcome'])).toEqual([
      'failed',
      'failed',
      'succeeded',
    ]);
    expect(spans[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'attempt 1 fails' },
      attributes: { 'error.type': 'Error', 'millrace.attempt': 1 },
      events: [{ name: 'exception', attributes: { 'exception.message': 'attempt 1 fails' } }],
    });
    expect(spans[2]!.events).toEqual([]);
  });
});

describe('metrics', () => {
  it('count and time what was executed, by definition, queue and outcome', async () => {
    await start();
    await client.enqueue(flaky, { failures: 1 });
    await client.enqueue(throwing, { what: 'error' });
    await spansOf(flaky.name, 2);
    await spansOf(throwing.name);
    const page = await until('all is counted', async () => {
      const text = await telemetry.metrics();
      return text.includes('definition="test.throwing"') && text;
    });
    for (const line of [
      'millrace_runs_finished_total{definition="test.throwing",queue="default",outcome="failed"} 1',
      'millrace_run_duration_seconds_count{definition="test.throwing",queue="default",outcome="failed"} 1',
      'millrace_run_wait_seconds_count{definition="test.throwing",queue="default"} 1',
      '# TYPE millrace_run_duration_seconds histogram',
    ]) {
      expect(page).toContain(line);
    }
  });

  it('show what a worker has in hand, and what waits', async () => {
    const { worker, calls, releaseAll } = await start();
    observeWorker(worker);
    observeQueues({ pool: database.pool, queues: ['default', 'mail'] });
    await client.enqueue(slow, {});
    await client.enqueue({ ...slow, queue: 'mail' }, {});
    await client.enqueue(slow, {}, { delayMs: 60_000 });
    await until('it runs', () => calls.length === 1);
    const page = await telemetry.metrics();
    for (const line of [
      'millrace_running{queue="default"} 1',
      'millrace_claimed{queue="default"} 1',
      'millrace_queue_runs{queue="default",state="running"} 1',
      'millrace_queue_runs{queue="default",state="queued"} 0',
      'millrace_queue_runs{queue="default",state="scheduled"} 1',
      'millrace_queue_runs{queue="mail",state="queued"} 1',
      'millrace_queue_oldest_wait_seconds{queue="default"} 0',
    ]) {
      expect(page).toContain(line);
    }
    expect(page).toMatch(/millrace_queue_oldest_wait_seconds\{queue="mail"\} 0\.\d/);
    expect(page).toMatch(/millrace_heartbeat_age_seconds \d/);
    releaseAll();
    // Read anew after 5 seconds at the earliest.
    await until('it is over', () => worker.load().get('default')?.claimed === 0);
    const later = await telemetry.metrics();
    expect(later).toContain('millrace_running{queue="default"} 0');
    expect(later).toContain('millrace_queue_runs{queue="default",state="running"} 1');
  });
});
