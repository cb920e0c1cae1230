import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { buildWeb } from './build-web.ts';
import { Fault } from './fault.ts';
import { REPOSITORY } from './repository.ts';
import type { Command } from './run-command.ts';

export const PARTS = ['checks', 'unit', 'db', 'chaos', 'e2e'] as const;
export type Part = (typeof PARTS)[number];

export interface TestStep {
  readonly command: Command;
  /** Where it writes its JSON report, if it runs tests. */
  readonly report?: string;
}

export interface StepsInput {
  readonly env: NodeJS.ProcessEnv;
  /** Of the reports. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** The parts named on the command line, in their order; all without one. Throws on an unknown name. */
export function parseParts(args: readonly string[]): Part[] {
  const unknown = args.filter((arg) => !PARTS.some((part) => part === arg));
  if (unknown.length > 0) {
    throw new Fault(`unknown part: ${unknown.join(', ')} (there are ${PARTS.join(', ')})`);
  }
  return PARTS.filter((part) => args.length === 0 || args.includes(part));
}

export function stepsOf(part: Part, input: StepsInput): TestStep[] {
  switch (part) {
    case 'checks':
      return checks(input);
    case 'unit':
      return [vitest('test:unit', input)];
    case 'db':
      return [vitest('test:db', input)];
    case 'chaos':
      return [{ command: buildWeb(input.env, input.signal) }, vitest('test:chaos', input)];
    case 'e2e':
      return [{ command: buildWeb(input.env, input.signal) }, playwright(input)];
  }
}

function checks(input: StepsInput): TestStep[] {
  const scripts = ['format:check', 'versions', 'lint', 'architecture', 'unused', 'typecheck'];
  const generators = [
    join('packages', 'db', 'src', 'generate.ts'),
    join('packages', 'jobs', 'src', 'registry', 'generate.ts'),
  ];
  return [
    ...scripts.map((script) => ({ command: pnpm(script, [], input) })),
    ...generators.map((file) => ({
      command: {
        ...base(input),
        name: `current: ${file}`,
        file: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', file, '--check'],
      },
    })),
  ];
}

function vitest(script: string, input: StepsInput): TestStep {
  const report = join(input.folder, `${script.replace(':', '-')}.json`);
  const env = { ...input.env, VITEST_JSON: report };
  return { command: pnpm(script, [], { ...input, env }), report };
}

function playwright(input: StepsInput): TestStep {
  // Without one, Playwright would take vitest's files for its own.
  if (!existsSync(join(REPOSITORY, 'playwright.config.ts'))) {
    throw new Fault('there are no end-to-end tests: playwright.config.ts is missing');
  }
  const report = join(input.folder, 'test-e2e.json');
  const env = { ...input.env, PLAYWRIGHT_JSON_OUTPUT_FILE: report };
  return { command: pnpm('test:e2e', ['--reporter=list,json'], { ...input, env }), report };
}

function pnpm(script: string, args: readonly string[], input: StepsInput): Command {
  return { ...base(input), name: script, file: 'pnpm', args: ['run', script, ...args] };
}

function base({ env, signal }: StepsInput): Pick<Command, 'cwd' | 'env' | 'signal'> {
  return { cwd: REPOSITORY, env, signal };
}
