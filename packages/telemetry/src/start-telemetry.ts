import { metrics } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

/** The variables of OpenTelemetry that say whether, and where to, spans are exported. */
export interface TracingVariables {
  readonly OTEL_SDK_DISABLED?: string | undefined;
  readonly OTEL_TRACES_EXPORTER?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
}

/** Whether the environment asks for spans. The exporter's own default would be a local collector. */
export function wantsTracing(variables: TracingVariables): boolean {
  if (variables.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  if (variables.OTEL_TRACES_EXPORTER === 'none') return false;
  return Boolean(
    variables.OTEL_TRACES_EXPORTER ||
    variables.OTEL_EXPORTER_OTLP_ENDPOINT ||
    variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
  );
}

export interface Telemetry {
  /** Everything measured by this process, as Prometheus reads it. */
  readonly metricsPage: () => Promise<string>;
  /** Exports what waits. */
  shutdown(): Promise<void>;
}

const COLLECT_MS = 3_000;
const SHUTDOWN_MS = 2_000;

/**
 * Registers the process's meters and, if it is to trace, OpenTelemetry's SDK as the standard `OTEL_*`
 * variables configure it. Call it once, before anything that measures is made.
 */
export async function startTelemetry(options: {
  /** `OTEL_SERVICE_NAME` unless that is set. */
  readonly service: string;
  readonly tracing: boolean;
  /** Told when a part of the metrics could not be collected. */
  readonly onFault: (error: unknown) => void;
}): Promise<Telemetry> {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const shutdown = options.tracing
    ? await startTracing(options.service, reader)
    : registerMeters(reader);
  return {
    metricsPage: async () => {
      const { resourceMetrics, errors } = await reader.collect({ timeoutMillis: COLLECT_MS });
      errors.forEach(options.onFault);
      return `${serializer.serialize(resourceMetrics)}\n`;
    },
    async shutdown() {
      const late = new Promise<void>((resolve) => {
        setTimeout(resolve, SHUTDOWN_MS).unref();
      });
      await Promise.race([shutdown().catch(options.onFault), late]);
    },
  };
}

function registerMeters(reader: PrometheusExporter): () => Promise<void> {
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  return () => provider.shutdown();
}

async function startTracing(
  service: string,
  reader: PrometheusExporter,
): Promise<() => Promise<void>> {
  // A process that does not trace does not load it.
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const { defaultResource, resourceFromAttributes } = await import('@opentelemetry/resources');
  const sdk = new NodeSDK({
    // What the variables say of the resource wins.
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': service })),
    metricReaders: [reader],
    // Logs are pino's.
    logRecordProcessors: [],
  });
  sdk.start();
  return () => sdk.shutdown();
}
