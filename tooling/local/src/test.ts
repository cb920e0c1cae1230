/** `bin/test [checks|unit|db|e2e …]`: every check and test; the last line says how many passed. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findChromium } from './chromium.ts';
import { inheritedEnv, parseTestEnv } from './env.ts';
import { Fault } from './fault.ts';
import { runCommand } from './run-command.ts';
import { listenForStop } from './stop-request.ts';
import { StopStack } from './stop-stack.ts';
import { countStep, readCounts, summaryLine, type Counts } from './test-counts.ts';
import { startTestDatabase } from './test-database.ts';
import { parseParts, stepsOf, type Part, type TestStep } from './test-steps.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`millrace: ${line}\n`);

async function main(): Promise<void> {
  const stop = listenForStop(print);
  const started = new StopStack(complain);
  stop.onHurry(() => started.killAll());
  let summary: string | null = null;
  try {
    const counts = await runParts(parseParts(process.argv.slice(2)), started, stop.signal);
    summary = summaryLine(counts);
    process.exitCode = counts.some(({ failed }) => failed > 0) ? 1 : 0;
  } catch (error) {
    process.exitCode = stop.signal.aborted ? 130 : 1;
    if (!stop.signal.aborted) {
      complain(error instanceof Fault ? error.message : String((error as Error).stack ?? error));
    }
  }
  await started.stopAll();
  if (summary !== null) print(summary);
  process.exit();
}

async function runParts(
  parts: readonly Part[],
  started: StopStack,
  signal: AbortSignal,
): Promise<Counts[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  started.push({ stop: remove });
  // PostgreSQL's account, if there is one, must pass.
  chmodSync(folder, 0o711);
  const env = inheritedEnv();
  const counts: Counts[] = [];
  for (const part of parts) {
    const partEnv = { ...env, ...(await requirements(part, folder, started, env)) };
    for (const step of stepsOf(part, { env: partEnv, folder, signal })) {
      counts.push(await runStep(step));
    }
  }
  return counts;
}

let databaseUrl: string | undefined;

/** What the steps of a part find in their environment. The server is started once. */
async function requirements(
  part: Part,
  folder: string,
  started: StopStack,
  env: NodeJS.ProcessEnv,
): Promise<NodeJS.ProcessEnv> {
  if (part === 'checks' || part === 'unit') return {};
  const given = parseTestEnv(env);
  databaseUrl ??= given.TEST_DATABASE_URL;
  if (databaseUrl === undefined) {
    const server = await startTestDatabase(join(folder, 'database'), print);
    started.push({ stop: () => server.stop(), kill: () => server.kill() });
    databaseUrl = server.url;
  }
  if (part !== 'e2e') return { TEST_DATABASE_URL: databaseUrl };
  const chromium = await findChromium(given.CHROMIUM_PATH, env['PATH'] ?? '');
  return { TEST_DATABASE_URL: databaseUrl, CHROMIUM_PATH: chromium };
}

async function runStep({ command, report }: TestStep): Promise<Counts> {
  const startedAt = performance.now();
  const { ok, output } = await runCommand(command);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const text = report !== undefined && existsSync(report) ? readFileSync(report, 'utf8') : '';
  const counts = countStep(ok, readCounts(text));
  const tests = report === undefined ? '' : `  ${counts.passed} passed, ${counts.failed} failed`;
  print(`${ok ? '✓' : '✗'} ${command.name}  ${seconds} s${tests}`);
  if (!ok) print(`\n${output.trimEnd()}\n`);
  return counts;
}

await main();
