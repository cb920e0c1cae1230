import { context, createContextKey, propagation, trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';

import { useTelemetry } from '../../testing/use-telemetry.ts';
import { storedContext } from './stored-context.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('storedContext', () => {
  useTelemetry();
  /** Calls it within a span; answers what the span's traceparent is. */
  const inSpan = <Result>(call: () => Result): readonly [Result, string] =>
    trace.getTracer('test').startActiveSpan('request', (span) => {
      const { traceId, spanId } = span.spanContext();
      try {
        return [call(), `00-${traceId}-${spanId}-01`] as const;
      } finally {
        span.end();
      }
    });

  it('is nothing without a context and a span', () => {
    expect(storedContext(undefined)).toBeUndefined();
  });

  it('takes the active span for the parent', () => {
    const [bare, parent] = inSpan(() => storedContext(undefined));
    expect(bare).toEqual({ traceparent: parent });
    const [given, its] = inSpan(() => storedContext({ requestId: 'r' }));
    expect(given).toEqual({ requestId: 'r', traceparent: its });
  });

  it('takes the parent that the caller names before the active span', () => {
    const [stored] = inSpan(() => storedContext({ traceparent }));
    expect(stored).toEqual({ traceparent });
  });

  it('stores no baggage', () => {
    const baggage = propagation.createBaggage({ user: { value: 'ann@example.org' } });
    const [stored] = inSpan(() =>
      context.with(propagation.setBaggage(context.active(), baggage), () =>
        storedContext({ requestId: 'r' }),
      ),
    );
    expect(JSON.stringify(stored)).not.toContain('ann');
  });

  it('takes no parent from a span that is not valid', () => {
    const invalid = trace.setSpan(
      context.active().setValue(createContextKey('x'), 1),
      trace.wrapSpanContext({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }),
    );
    expect(context.with(invalid, () => storedContext(undefined))).toBeUndefined();
  });
});
