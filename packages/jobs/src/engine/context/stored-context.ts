import {
  parseRunContext,
  type RunContext,
  type StoredContext,
} from '../../contract/run-context.ts';
import { activeTraceContext } from '../telemetry/trace-context.ts';

/**
 * What is stored of a caller's context, with the active span as the trace's parent unless the caller
 * names one; undefined when there is nothing to store.
 */
export function storedContext(given: RunContext | undefined): StoredContext | undefined {
  const active = given?.traceparent === undefined ? activeTraceContext() : undefined;
  if (!given) return active;
  return { ...parseRunContext(given), ...active };
}
