import type { InlineJobDefinition } from '../contract/definition.ts';
import type { Duration } from '../contract/duration.ts';
import { durationOrNaN, identityFaults, refuseFaults, wholeWithin, within } from './define-job.ts';

export interface InlineJobOptions<Name extends string> {
  name: Name;
  description: string;
  /** Names that it had before it was renamed: overrides and history of these stay with it. */
  formerNames?: readonly string[];
  /** Whether it can be triggered; true unless given. */
  enabled?: boolean;
  /** The most items one call handles: what keeps it well inside the caller's timeout. */
  limit: number;
  /** Hard limit of one call: up to 10 s, which is also the default. */
  timeout?: Duration;
}

/**
 * Declares a job that the web process executes within the scheduler's request. It must be capped by
 * `limit`, end comfortably within `timeout` at that cap, be harmless when run twice, and drain a
 * backlog over several calls; otherwise use `defineJob`. Throws a `TypeError` that lists every fault.
 */
export function defineInlineJob<const Name extends string>(
  options: InlineJobOptions<Name>,
): InlineJobDefinition<Name> {
  const definition: InlineJobDefinition<Name> = {
    form: 'inline',
    name: options.name,
    description: options.description,
    formerNames: options.formerNames ?? [],
    enabled: options.enabled ?? true,
    clock: 'kestra',
    limit: options.limit,
    timeoutMs: durationOrNaN(options.timeout ?? '10s'),
  };
  refuseFaults(definition.name, [
    ...identityFaults(definition),
    !wholeWithin(definition.limit, 1, 100_000) && 'limit must be 1 to 100000',
    !within(definition.timeoutMs, 1, 10_000) && 'timeout must be at most 10s',
  ]);
  return Object.freeze(definition);
}
