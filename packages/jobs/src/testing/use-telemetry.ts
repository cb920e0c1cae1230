import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { NodeSDK } from '@opentelemetry/sdk-node';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, beforeEach } from 'vitest';

/** What a test's process traced and measured. */
export interface TestTelemetry {
  /** Those that ended during this test. */
  spans(): readonly ReadableSpan[];
  /** All that was measured since the first test, in Prometheus's format. */
  metrics(): Promise<string>;
}

/** Registers OpenTelemetry's SDK for the tests of this file; call it before workers are started. */
export function useTelemetry(): TestTelemetry {
  const exporter = new InMemorySpanExporter();
  const reader = new PrometheusExporter({ preventServerStart: true });
  const sdk = new NodeSDK({
    autoDetectResources: false,
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    metricReaders: [reader],
    logRecordProcessors: [],
  });
  beforeAll(() => sdk.start());
  beforeEach(() => exporter.reset());
  afterAll(async () => {
    await sdk.shutdown();
    for (const api of [trace, metrics, context, propagation]) api.disable();
  });
  return {
    spans: () => exporter.getFinishedSpans(),
    async metrics() {
      const { resourceMetrics } = await reader.collect();
      return new PrometheusSerializer(undefined, false, undefined, true, true).serialize(
        resourceMetrics,
      );
    },
  };
}
