/** `bin/start` and, with --dev, `bin/dev`: PostgreSQL, web and workers until a signal stops them. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { announcement } from './announce.ts';
import { buildWeb } from './build-web.ts';
import { defaultDataDir, openDataDir } from './data-dir.ts';
import { inheritedEnv, parseStartEnv, type StartEnv } from './env.ts';
import { Fault } from './fault.ts';
import { takeLock } from './lock-file.ts';
import { portFault } from './ports.ts';
import { postgresAccount } from './postgres-account.ts';
import { prepareDatabase } from './prepare-database.ts';
import { webProgram, workerProgram } from './programs.ts';
import { REPOSITORY } from './repository.ts';
import { mustRun } from './run-command.ts';
import { readOrCreateSecret } from './secret-file.ts';
import { listenForStop, whenAborted, type StopRequest } from './stop-request.ts';
import { StopStack } from './stop-stack.ts';
import { supervise } from './supervise.ts';
import { waitUntilReady } from './wait-until-ready.ts';

const READY_TIMEOUT_MS = 60_000;
const QUEUES = ['default,mail', 'batch'];

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`millrace: ${line}\n`);

async function main(): Promise<void> {
  const dev = process.argv.includes('--dev');
  const stop = listenForStop(print);
  const started = new StopStack(complain);
  stop.onHurry(() => started.killAll());
  try {
    await start(dev, started, stop);
    await whenAborted(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) {
      complain(error instanceof Fault ? error.message : inspectUnexpected(error));
      process.exitCode = 1;
    }
  }
  await started.stopAll();
  if (stop.signal.aborted) print('stopped');
  process.exit();
}

async function start(dev: boolean, started: StopStack, { signal }: StopRequest): Promise<void> {
  const env = parseStartEnv(inheritedEnv());
  const account = postgresAccount();
  const dataDir = env.DATA_DIR ? resolve(env.DATA_DIR) : defaultDataDir(REPOSITORY, account);
  openDataDir(dataDir, account);
  started.push({
    stop: takeLock(join(dataDir, 'start.lock'), join('tooling', 'local', 'src', 'start.ts')),
  });
  await checkPort(env.PORT);
  const logs = join(dataDir, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });

  const given = env.DATABASE_URL !== undefined;
  const databaseUrl = await prepareDatabase({
    given: env.DATABASE_URL,
    dataDir,
    logs,
    started,
    print,
  });
  const token = schedulerToken(env, dataDir);
  const childEnv = { ...inheritedEnv(), ...applicationEnv(env, databaseUrl, token) };
  const command = { cwd: REPOSITORY, env: childEnv, signal };
  print('migrating the database …');
  await mustRun({
    ...command,
    name: 'migration',
    file: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', join('apps', 'worker', 'src', 'migrate.ts')],
  });
  const opsToken = env.APP_ENV === 'local' ? join(dataDir, 'ops-token') : null;
  if (opsToken) await mustRun({ ...command, ...keepOpsToken(opsToken) });
  if (!dev) {
    print('building the console …');
    await mustRun(buildWeb(childEnv, signal));
  }

  print('starting …');
  const input = { dev, port: env.PORT, env: childEnv, logs, print: complain };
  const specs = [
    webProgram(input),
    ...(await Promise.all(QUEUES.map((queues) => workerProgram(queues, input)))),
  ];
  signal.throwIfAborted();
  const programs = specs.map((spec) => supervise(spec));
  const [web, ...workers] = programs;
  started.push({ stop: async () => web?.stop(), kill: () => web?.kill() });
  started.push({
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
    kill: () => workers.forEach((worker) => worker.kill()),
  });
  await waitUntilReady(programs, READY_TIMEOUT_MS, signal);
  for (const program of programs) program.steady();
  // A given secret stays off the screen, as a given database's password does.
  const shown = env.SCHEDULER_TOKEN === undefined ? token : '$SCHEDULER_TOKEN';
  const database = given ? null : databaseUrl;
  print(announcement({ port: env.PORT, token: shown, databaseUrl: database, logs, opsToken }));
}

async function checkPort(port: number): Promise<void> {
  for (const host of ['127.0.0.1', '::1']) {
    const fault = await portFault(port, host);
    if (fault) throw new Fault(`${fault}: set PORT to another one`);
  }
}

/** In `local` nobody has to think of a secret: it is made once and kept. */
function schedulerToken(env: StartEnv, dataDir: string): string | undefined {
  if (env.SCHEDULER_TOKEN !== undefined || env.APP_ENV !== 'local') return env.SCHEDULER_TOKEN;
  return readOrCreateSecret(join(dataDir, 'scheduler-token'));
}

/** The operators' API too can be tried at once. */
function keepOpsToken(file: string): { name: string; file: string; args: string[] } {
  const script = join('apps', 'worker', 'src', 'admin-token.ts');
  const args = ['--label', 'bin/start', '--role', 'admin', '--days', '366', '--file', file];
  return {
    name: 'the API token',
    file: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', script, ...args],
  };
}

function applicationEnv(env: StartEnv, databaseUrl: string, token?: string): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: databaseUrl,
    APP_ENV: env.APP_ENV,
    ...(token === undefined ? {} : { SCHEDULER_TOKEN: token }),
  };
}

function inspectUnexpected(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

await main();
