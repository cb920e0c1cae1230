import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';

import type { StoredContext } from '../../contract/run-context.ts';
import type { ErrorDescription } from '../describe-error.ts';
import type { ClaimedRun } from '../sql/claim-runs.ts';
import { SCOPE_NAME } from './run-metrics.ts';

/**
 * The consumer span of one execution: `job <name>`, a child of the trace that enqueued the run. It says
 * nothing of the arguments.
 */
export class RunSpan {
  readonly #span: Span;
  readonly #context: Context;

  constructor(span: Span, parent: Context) {
    this.#span = span;
    this.#context = trace.setSpan(parent, span);
  }

  /** Calls it with this span as the active one. */
  run<Result>(call: () => Result): Result {
    return context.with(this.#context, call);
  }

  /** `error`: what failed, without anything of the arguments; null when nothing did. */
  end(outcome: string, error: ErrorDescription | null): void {
    this.#span.setAttribute('millrace.outcome', outcome);
    if (outcome === 'failed' || outcome === 'timed_out') {
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error?.message ?? outcome });
      this.#span.setAttribute('error.type', error?.name ?? outcome);
      if (error) this.#span.recordException(error);
    }
    this.#span.end();
  }
}

export type SpanSubject = Pick<
  ClaimedRun,
  'id' | 'definition' | 'trigger' | 'execution' | 'attempt' | 'waited_ms'
>;

/** Undefined while no OpenTelemetry SDK is registered: nothing is allocated for a run then. */
export function startRunSpan(
  claimed: SpanSubject,
  queue: string,
  scope: { readonly context: StoredContext },
): RunSpan | undefined {
  const tracer = registeredTracer();
  if (!tracer) return undefined;
  const { id: runId, definition, trigger, execution, attempt, waited_ms } = claimed;
  const parent = propagation.extract(ROOT_CONTEXT, scope.context);
  const span = tracer.startSpan(
    `job ${definition}`,
    {
      kind: SpanKind.CONSUMER,
      attributes: {
        'messaging.system': 'millrace',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': queue,
        'messaging.message.id': runId,
        'millrace.run.id': runId,
        'millrace.definition': definition,
        'millrace.queue': queue,
        'millrace.trigger': trigger,
        'millrace.execution': execution,
        'millrace.attempt': attempt,
        'millrace.waited_ms': waited_ms,
      },
    },
    parent,
  );
  return new RunSpan(span, parent);
}

/** The API's own tracer would make spans that go nowhere; only its provider tells that it is there. */
function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return 'getDelegateTracer' in provider
    ? (provider as DelegatingProvider).getDelegateTracer(SCOPE_NAME)
    : provider.getTracer(SCOPE_NAME);
}

/** What the API registers in front of an SDK. It goes away with API 2, and this with it. */
interface DelegatingProvider extends TracerProvider {
  getDelegateTracer(name: string): Tracer | undefined;
}
