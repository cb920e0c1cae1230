import { context, isSpanContextValid, propagation, trace } from '@opentelemetry/api';

/** A place in a trace, as W3C Trace Context writes it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/**
 * The active span as a trace context; undefined without one, or where the application's propagators
 * do not speak W3C Trace Context. Costs next to nothing while no OpenTelemetry SDK is registered.
 */
export function activeTraceContext(): TraceContext | undefined {
  const span = trace.getActiveSpan();
  if (!span || !isSpanContextValid(span.spanContext())) return undefined;
  const carrier: { traceparent?: string; tracestate?: string } = {};
  // Baggage is injected too, and left behind: it may say anything about anybody.
  propagation.inject(context.active(), carrier);
  const { traceparent, tracestate } = carrier;
  return traceparent ? { traceparent, ...(tracestate && { tracestate }) } : undefined;
}
