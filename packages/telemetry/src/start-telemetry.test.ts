import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { startTelemetry, wantsTracing } from './start-telemetry.ts';

describe('wantsTracing', () => {
  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true],
    [{ OTEL_TRACES_EXPORTER: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:4318' }, false],
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x:4318' }, false],
  ])('of %j: %s', (variables, wanted) => {
    expect(wantsTracing(variables)).toBe(wanted);
  });
});

describe('startTelemetry', () => {
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  let collector: Server | undefined;
  afterEach(() => {
    for (const api of [trace, metrics, context, propagation]) api.disable();
    collector?.close();
    vi.unstubAllEnvs();
    faults.length = 0;
  });

  it('measures without tracing', async () => {
    const telemetry = await startTelemetry({ service: 'test', tracing: false, onFault });
    metrics.getMeter('test').createCounter('things').add(2, { kind: 'a "quoted" one' });
    expect(await telemetry.metricsPage()).toContain('things_total{kind="a \\"quoted\\" one"} 2\n');
    expect(trace.getTracer('test').startSpan('x').isRecording()).toBe(false);
    await telemetry.shutdown();
  });

  it('tells of what cannot be measured and shows the rest', async () => {
    const telemetry = await startTelemetry({ service: 'test', tracing: false, onFault });
    const meter = metrics.getMeter('test');
    meter.createObservableGauge('broken').addCallback(() => Promise.reject(new Error('away')));
    meter.createCounter('things').add(1);
    expect(await telemetry.metricsPage()).toContain('things_total 1');
    expect(faults).toEqual([new Error('away')]);
    await telemetry.shutdown();
  });

  it('traces to where the variables say, and exports the rest when it ends', async () => {
    const received: string[] = [];
    collector = createServer((request, response) => {
      received.push(`${request.method} ${request.url}`);
      request.resume().on('end', () => response.writeHead(200).end());
    }).listen(0);
    const { port } = collector.address() as AddressInfo;
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`);
    const telemetry = await startTelemetry({ service: 'test', tracing: true, onFault });
    metrics.getMeter('test').createCounter('things').add(1);
    const span = trace.getTracer('test').startSpan('x');
    expect(span.isRecording()).toBe(true);
    span.end();
    expect(await telemetry.metricsPage()).toContain('things_total 1');
    await telemetry.shutdown();
    expect(received).toEqual(['POST /v1/traces']);
    expect(faults).toEqual([]);
  });

  it('ends though the collector is away', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1');
    const telemetry = await startTelemetry({ service: 'test', tracing: true, onFault });
    trace.getTracer('test').startSpan('x').end();
    const before = performance.now();
    await telemetry.shutdown();
    expect(performance.now() - before).toBeLessThan(3_000);
  });
});
