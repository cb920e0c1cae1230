import type { Readable, Writable } from 'node:stream';

import { isCancel, select, text } from '@clack/prompts';

import type { Installation } from './installation.ts';
import { parseJobName } from './job-name.ts';
import {
  type JobRequest,
  parseClock,
  parseMaxAttempts,
  parseTimeout,
  refuseTaken,
} from './plan-job.ts';
import { Refusal } from './refusal.ts';

/** Where questions are asked. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

type Starter = 'code' | 'cron' | 'every' | 'inline';

/** Asks for the name and for everything that no flag says. Enter takes what is proposed. */
export async function askForJob(
  given: Partial<JobRequest>,
  installation: Installation,
  terminal: Terminal,
): Promise<JobRequest> {
  const ask = questions(terminal);
  const name = await ask.text('Name of the job', 'CleanupSessions', (value) =>
    refuseTaken(parseJobName(value), installation),
  );
  const clock = await askForClock(given, ask);
  if (clock.inline) return { ...given, ...clock, name };
  const queue = given.queue ?? (await askForQueue(installation, ask));
  const timeout =
    given.timeout ??
    (await ask.text('Timeout of one attempt', '5m', (value) => parseTimeout(value)));
  const maxAttempts =
    given.maxAttempts ?? (await ask.text('Attempts at most', '3', parseMaxAttempts));
  return { ...given, ...clock, name, queue, timeout, maxAttempts };
}

async function askForClock(
  given: Partial<JobRequest>,
  ask: Questions,
): Promise<Pick<JobRequest, 'cron' | 'every' | 'inline'>> {
  const { cron, every, inline } = given;
  if (cron !== undefined || every !== undefined || inline) return { cron, every, inline };
  const starter = await ask.select<Starter>('What starts it?', [
    { value: 'code', label: 'application code, or an operator' },
    { value: 'cron', label: 'a cron schedule' },
    { value: 'every', label: 'a schedule of equal distances' },
    // It has neither a queue nor attempts: not on offer to who has asked for some.
    ...(given.queue === undefined && given.maxAttempts === undefined
      ? [{ value: 'inline' as const, label: 'the scheduler, and waits up to 10 s (inline)' }]
      : []),
  ]);
  switch (starter) {
    case 'code':
      return {};
    case 'inline':
      return { inline: true };
    case 'cron':
      return {
        cron: await ask.text('Cron (UTC)', '0 3 * * *', (value) => parseClock({ cron: value })),
      };
    case 'every':
      return { every: await ask.text('Every', '15m', (value) => parseClock({ every: value })) };
  }
}

function askForQueue({ queues }: Installation, ask: Questions): Promise<string> {
  const options = Object.keys(queues).map((queue) => ({ value: queue, label: queue }));
  return ask.select('Queue', options);
}

interface Questions {
  text(message: string, proposed: string, check: (value: string) => unknown): Promise<string>;
  select<Value extends string>(
    message: string,
    options: { value: Value; label: string }[],
  ): Promise<Value>;
}

function questions(terminal: Terminal): Questions {
  return {
    text: async (message, proposed, check) => {
      const answer = await text({
        ...terminal,
        message,
        placeholder: proposed,
        defaultValue: proposed,
        // An empty answer takes the proposal.
        validate: (value) => (value ? faultOf(() => check(value)) : undefined),
      });
      return answered<string>(answer);
    },
    // The options' type depends on whether a value is a string; ours are.
    select: async <Value extends string>(
      message: string,
      options: { value: Value; label: string }[],
    ) =>
      answered<Value>((await select<string>({ ...terminal, message, options })) as Value | symbol),
  };
}

function answered<Value>(answer: Value | symbol): Value {
  if (isCancel(answer)) throw new Refusal('cancelled: nothing was generated');
  return answer as Value;
}

function faultOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
