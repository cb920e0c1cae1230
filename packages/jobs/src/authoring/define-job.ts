import type { z } from 'zod';

import {
  DEFINITION_NAME,
  type JobClock,
  type JobDefinition,
  type MissedPolicy,
  type OverlapPolicy,
  type RetryPolicy,
} from '../contract/definition.ts';
import { type Duration, durationMs } from '../contract/duration.ts';
import { QUEUE_NAME } from '../contract/queue.ts';
import { parseSchedule, parseTimeZone } from '../contract/schedule.ts';

interface CommonJobOptions<Name extends string, Args extends z.ZodType> {
  /** `^[a-z][a-z0-9_.]{1,62}$`. Public API: it appears in URLs and in other systems. */
  name: Name;
  /** One sentence for operators: what it does. */
  description: string;
  /** Schema of the arguments. They are checked when a run is enqueued and again when it starts. */
  args: Args;
  /** Names that it had before it was renamed: overrides and history of these stay with it. */
  formerNames?: readonly string[];
  /** Whether its schedule runs and it can be triggered; true unless given. */
  enabled?: boolean;
  /** `builtin` with a schedule, else `none`, unless given. */
  clock?: JobClock;
  /** Five cron fields or `@every 15m`; only with the built-in clock. */
  schedule?: string;
  /** Of a cron schedule; `UTC` unless given. */
  timezone?: string;
  /** `once` unless given; a number is 1 to 1000. */
  missed?: MissedPolicy;
  /** `coalesce` unless given. */
  overlap?: OverlapPolicy;
  /** Of one attempt: 1 s to 24 h, 5 minutes unless given. */
  timeout?: Duration;
  /** 1 to 100, 3 unless given. */
  maxAttempts?: number;
  /** `default` unless given. */
  queue?: string;
  /** −100 … 100, lower first, 0 unless given. */
  priority?: number;
  retry?: Partial<RetryPolicy>;
}

type NewArgs<Args extends z.ZodType> = (trigger: { slot: Date | null }) => z.input<Args>;

/** Options of {@link defineJob}: `newArgs` may be left out where `{}` satisfies the schema. */
export type JobOptions<Name extends string, Args extends z.ZodType> = CommonJobOptions<Name, Args> &
  (Record<never, never> extends z.input<Args>
    ? { newArgs?: NewArgs<Args> }
    : { newArgs: NewArgs<Args> });

const DEFAULT_RETRY: RetryPolicy = {
  firstDelayMs: 1_000,
  factor: 2,
  maxDelayMs: 3_600_000,
  jitter: 0.25,
};

/**
 * Declares a kind of job whose runs wait in a queue. Throws a `TypeError` that lists every fault of
 * the options, so that a broken definition stops its process at start-up.
 */
export function defineJob<const Name extends string, Args extends z.ZodType>(
  options: JobOptions<Name, Args>,
): JobDefinition<Name, Args> {
  const retry = { ...DEFAULT_RETRY, ...options.retry };
  const definition: JobDefinition<Name, Args> = {
    form: 'queued',
    name: options.name,
    description: options.description,
    formerNames: options.formerNames ?? [],
    enabled: options.enabled ?? true,
    args: options.args,
    newArgs: options.newArgs,
    clock: options.clock ?? (options.schedule ? 'builtin' : 'none'),
    schedule: options.schedule ?? '',
    timezone: options.timezone ?? 'UTC',
    missed: options.missed ?? 'once',
    overlap: options.overlap ?? 'coalesce',
    timeoutMs: durationOrNaN(options.timeout ?? '5m'),
    maxAttempts: options.maxAttempts ?? 3,
    queue: options.queue ?? 'default',
    priority: options.priority ?? 0,
    retry,
  };
  refuseFaults(definition.name, [
    ...identityFaults(definition),
    ...scheduleFaults(definition),
    typeof definition.missed === 'number' &&
      !wholeWithin(definition.missed, 1, 1_000) &&
      'missed must be "skip", "once" or 1 to 1000',
    !within(definition.timeoutMs, 1_000, 86_400_000) && 'timeout must be 1s to 24h',
    !wholeWithin(definition.maxAttempts, 1, 100) && 'maxAttempts must be 1 to 100',
    !wholeWithin(definition.priority, -100, 100) && 'priority must be -100 to 100',
    !QUEUE_NAME.test(definition.queue) && `queue "${definition.queue}" is not a queue name`,
    !within(retry.firstDelayMs, 1, retry.maxDelayMs) &&
      'retry.firstDelayMs must be 1 to maxDelayMs',
    !within(retry.maxDelayMs, 1, 2_147_483_647) && 'retry.maxDelayMs must be at most 24 days',
    !within(retry.factor, 1, 100) && 'retry.factor must be 1 to 100',
    !within(retry.jitter, 0, 1) && 'retry.jitter must be 0 to 1',
    !options.newArgs &&
      !options.args.safeParse({}).success &&
      'newArgs is required: its schema does not accept {}',
  ]);
  return Object.freeze(definition);
}

/** So that a malformed duration is listed with the other faults: NaN is within no limits. */
export function durationOrNaN(duration: Duration): number {
  try {
    return durationMs(duration);
  } catch {
    return NaN;
  }
}

function scheduleFaults({
  clock,
  schedule,
  timezone,
}: Pick<JobDefinition, 'clock' | 'schedule' | 'timezone'>): (string | false)[] {
  return [
    schedule !== '' && scheduleFault(() => parseSchedule(schedule)),
    scheduleFault(() => parseTimeZone(timezone)),
    schedule !== '' &&
      clock !== 'builtin' &&
      `a schedule and the clock "${clock}" exclude each other`,
  ];
}

function scheduleFault(parse: () => unknown): string | false {
  try {
    parse();
    return false;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Faults that queued and inline definitions share. */
export function identityFaults(definition: {
  name: string;
  description: string;
  formerNames: readonly string[];
}): (string | false)[] {
  return [
    ...definition.formerNames.map(
      (name) =>
        (!DEFINITION_NAME.test(name) || name === definition.name) &&
        `formerNames: "${name}" is not a name that it can have had`,
    ),
    !DEFINITION_NAME.test(definition.name) &&
      'name must be 2 to 63 of a-z, 0-9, "_" and ".", starting with a letter',
    definition.description.trim() === '' && 'description must say what the job does',
  ];
}

/** Throws one `TypeError` with all faults, if there are any. */
export function refuseFaults(name: string, faults: (string | false)[]): void {
  const found = faults.filter((fault) => fault !== false);
  if (found.length > 0) throw new TypeError(`Job definition "${name}": ${found.join('; ')}.`);
}

export function within(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

export function wholeWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && within(value, min, max);
}
