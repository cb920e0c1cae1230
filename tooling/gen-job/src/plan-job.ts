import { durationMs, type Duration } from '@millrace/jobs/contract/duration';
import { parseSchedule } from '@millrace/jobs/contract/schedule';

import type { Installation } from './installation.ts';
import { type JobName, parseJobName, variableOf } from './job-name.ts';
import { quoted, Refusal } from './refusal.ts';

/** What was asked for, as it was written. */
export interface JobRequest {
  readonly name: string;
  readonly cron?: string | undefined;
  readonly every?: string | undefined;
  readonly queue?: string | undefined;
  readonly timeout?: string | undefined;
  readonly maxAttempts?: string | undefined;
  readonly inline?: boolean | undefined;
}

/** What will be generated. Fields that are left out have the defaults of `defineJob`. */
export interface JobPlan extends JobName {
  readonly form: 'queued' | 'inline';
  readonly schedule?: string;
  readonly queue?: string;
  readonly timeout?: string;
  readonly maxAttempts?: number;
}

const QUEUES_FILE = 'packages/jobs/src/definitions/queues.ts';

/** Checks a request against the rules and what is there. Throws one {@link Refusal} with all faults. */
export function planJob(request: JobRequest, installation: Installation): JobPlan {
  const faults: string[] = [];
  const read = <Value>(parse: () => Value): Value | undefined => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      faults.push(error.message);
      return undefined;
    }
  };
  const { inline = false, queue, timeout, maxAttempts } = request;
  const name = read(() => parseJobName(request.name));
  if (name) read(() => refuseTaken(name, installation));
  if (inline) read(() => refuseQueuedOptions(request));

  const schedule = inline ? undefined : read(() => parseClock(request));
  const limits = inline ? INLINE_TIMEOUT : QUEUED_TIMEOUT;
  const options = {
    schedule,
    queue: queue !== undefined && !inline ? read(() => parseQueue(queue, installation)) : undefined,
    timeout: timeout !== undefined ? read(() => parseTimeout(timeout, limits)) : undefined,
    maxAttempts:
      maxAttempts !== undefined && !inline ? read(() => parseMaxAttempts(maxAttempts)) : undefined,
  };
  if (!name || faults.length > 0) throw new Refusal(faults.join('; '));
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...name, form: inline ? 'inline' : 'queued', ...Object.fromEntries(given) };
}

/** Refuses a name that anything has or had. */
export function refuseTaken({ name, folder, variable }: JobName, installation: Installation): void {
  const { taken, definitions } = installation;
  if (taken.includes(folder)) {
    throw new Refusal(`definitions/${folder} exists already: write another name`);
  }
  for (const definition of definitions) {
    if (definition.name === name) {
      throw new Refusal(`there is a definition ${name} already: write another name`);
    }
    if (definition.formerNames.includes(name)) {
      throw new Refusal(
        `${name} is a former name of ${definition.name}, whose history it keeps: write another name`,
      );
    }
  }
  // sync-2 and sync2 would both be exported as sync2.
  const twin = taken.find((other) => variableOf(other) === variable);
  if (twin !== undefined) {
    throw new Refusal(`definitions/${twin} exports ${variable} already: write another name`);
  }
}

function refuseQueuedOptions(request: JobRequest): void {
  const given = (
    [
      ['--cron', request.cron],
      ['--every', request.every],
      ['--queue', request.queue],
      ['--max-attempts', request.maxAttempts],
    ] as const
  ).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length > 0) {
    throw new Refusal(
      `an inline job is called by the scheduler and has no queue, schedule or attempts: leave out ${given.join(', ')} or --inline`,
    );
  }
}

/** The `schedule` of the definition, if one was asked for. */
export function parseClock({
  cron,
  every,
}: Pick<JobRequest, 'cron' | 'every'>): string | undefined {
  if (cron !== undefined && every !== undefined) {
    throw new Refusal('--cron and --every exclude each other: write one of them');
  }
  if (every !== undefined) {
    if (!/^\S+$/.test(every) || every.startsWith('@')) {
      throw new Refusal(`--every ${quoted(every)} is not a duration: write --every 15m`);
    }
    const schedule = `@every ${every}`;
    reading('--every', () => parseSchedule(schedule));
    return schedule;
  }
  if (cron === undefined) return undefined;
  if (cron.trim().startsWith('@every')) {
    throw new Refusal(
      `--cron takes five cron fields: write --every 15m instead of ${quoted(cron)}`,
    );
  }
  const schedule = reading('--cron', () => parseSchedule(cron));
  return schedule.kind === 'cron' ? schedule.expression : undefined;
}

function parseQueue(queue: string, { queues }: Installation): string {
  if (Object.hasOwn(queues, queue)) return queue;
  throw new Refusal(
    `--queue ${quoted(queue)} is not declared: write ${Object.keys(queues).join(', ')}, or add it to ${QUEUES_FILE}`,
  );
}

const QUEUED_TIMEOUT = { minMs: 1_000, maxMs: 86_400_000, words: '1s to 24h' };
const INLINE_TIMEOUT = { minMs: 1, maxMs: 10_000, words: '10s or less, since a caller waits' };

/** A timeout that a queued, or an inline, definition accepts. */
export function parseTimeout(text: string, limits = QUEUED_TIMEOUT): string {
  const ms = reading('--timeout', () => durationMs(text as Duration));
  if (ms < limits.minMs || ms > limits.maxMs) {
    throw new Refusal(`--timeout ${quoted(text)} is out of range: write ${limits.words}`);
  }
  return text;
}

export function parseMaxAttempts(text: string): number {
  const attempts = /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (attempts >= 1 && attempts <= 100) return attempts;
  throw new Refusal(`--max-attempts ${quoted(text)} is out of range: write a number from 1 to 100`);
}

/** The product's own parsers say what is wrong and what to write; here they say of which flag. */
function reading<Value>(flag: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(`${flag}: ${reason.replaceAll(/\s+/g, ' ')}`);
  }
}
