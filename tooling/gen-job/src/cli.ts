import { Command, CommanderError, InvalidArgumentError } from 'commander';

import { askForJob, type Terminal } from './ask.ts';
import { readInstallation } from './installation.ts';
import { type JobPlan, type JobRequest, planJob } from './plan-job.ts';
import { Refusal } from './refusal.ts';
import { type JobFiles, renderJob } from './render-job.ts';
import { writeJob } from './write-job.ts';

export interface CliOptions {
  /** Of the checkout in which the job is made. */
  readonly root: string;
  readonly print: (text: string) => void;
  readonly complain: (line: string) => void;
  /** Null where nobody can be asked. */
  readonly terminal: Terminal | null;
}

/** `pnpm gen`; returns the exit code. */
export async function runCli(args: readonly string[], options: CliOptions): Promise<number> {
  try {
    await program(options).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.helpDisplayed') return 0;
    const reason = error instanceof CommanderError ? usageFault(error, args) : error;
    // A file system that does not let us, or a folder that is not there, is no bug of ours.
    const ofSystem = reason instanceof Error && 'syscall' in reason;
    if (!(reason instanceof Refusal || ofSystem)) throw reason;
    options.complain(`gen: ${reason.message}`);
    return 1;
  }
}

function program(options: CliOptions): Command {
  const gen = new Command('pnpm gen')
    .description('Generates code of this repository.')
    .exitOverride()
    .showSuggestionAfterError(false)
    // Its errors are told in one line by runCli.
    .configureOutput({ writeOut: options.print, writeErr: () => undefined });
  gen
    .command('job')
    .description('Makes a job that works: definition, handler, test and registration.')
    .argument(
      '[name]',
      'CleanupSessions, cleanup_sessions or cleanup-sessions; asked for if missing',
    )
    .option('--cron <spec>', 'its schedule: five cron fields, in UTC', once)
    .option('--every <duration>', 'its schedule: equal distances of 1m or more', once)
    .option('--queue <name>', 'where its runs wait (default: default)', once)
    .option('--timeout <duration>', 'of one attempt: 1s to 24h (default: 5m)', once)
    .option('--max-attempts <n>', '1 to 100 (default: 3)', once)
    .option('--inline', 'executed while the scheduler waits: 10s at most')
    .action((name: string | undefined, flags: Omit<JobRequest, 'name'>) =>
      generateJob({ ...flags, ...(name !== undefined && { name }) }, options),
    );
  return gen;
}

function once(value: string, previous: string | undefined): string {
  if (previous !== undefined) throw new InvalidArgumentError('Write it once.');
  return value;
}

async function generateJob(given: Partial<JobRequest>, options: CliOptions): Promise<void> {
  const { root, terminal, print } = options;
  const { name } = given;
  if (name === undefined && !terminal) {
    throw new Refusal('a name is missing: write pnpm gen job CleanupSessions');
  }
  const installation = await readInstallation(root);
  const request =
    name === undefined && terminal
      ? await askForJob(given, installation, terminal)
      : { ...given, name: name ?? '' };
  const plan = planJob(request, installation);
  const files = await renderJob(plan, root);
  await writeJob(plan, files, installation);
  print(summary(plan, files));
}

/** What commander found, with what to write instead. */
function usageFault(error: CommanderError, args: readonly string[]): Refusal {
  const reason = error.message.replace(/^error: /, '').replaceAll(/\s+/g, ' ');
  switch (error.code) {
    case 'commander.help':
      return new Refusal('say what to generate: write pnpm gen job CleanupSessions');
    case 'commander.unknownCommand':
      return new Refusal(`${reason}: write pnpm gen job CleanupSessions`);
    case 'commander.excessArguments':
      return new Refusal(
        args.some((arg) => arg.startsWith('--cron'))
          ? "too many arguments: quote the cron expression, --cron '0 3 * * *'"
          : 'too many arguments: write one name, pnpm gen job CleanupSessions',
      );
    default:
      return new Refusal(`${reason}: pnpm gen job --help shows what to write`);
  }
}

function summary(plan: JobPlan, files: JobFiles): string {
  const folder = `packages/jobs/src/definitions/${plan.folder}`;
  const work =
    plan.form === 'inline' ? 'counts the runs that wait' : 'measures a round trip to the database';
  return [
    `${plan.name} is registered:`,
    ...[...files.keys()].map((file) => `  ${folder}/${file}`),
    `Until you replace it, its handler ${work}. Say in definition.ts what it is for.`,
    'docs/define-a-job.md goes on from here; ./bin/test checks it.',
    '',
  ].join('\n');
}
