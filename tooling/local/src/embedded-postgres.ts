import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createDatabase } from './create-database.ts';
import { openDataDir } from './data-dir.ts';
import { Fault } from './fault.ts';
import { endWith } from './end-with.ts';
import { freePort } from './ports.ts';
import { postgresAccount } from './postgres-account.ts';
import { findPostgres } from './postgres-binaries.ts';
import { SUPERUSER, openCluster, serverEnv, type Cluster } from './postgres-cluster.ts';
import { readStatus, stopLeftServer } from './postmaster-file.ts';
import { signal } from './process-table.ts';

export interface PostgresOptions {
  /** Made if it is missing. The database is in `postgres/` below it. */
  readonly dataDir: string;
  /** Of postgresql.conf, for this start: `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Gets what a person should know, a line each. */
  readonly log: (line: string) => void;
  /** What the server writes; `postgres/postgresql.log` below dataDir if absent. */
  readonly logFile?: string;
}

export interface EmbeddedPostgres {
  /** Of the database `millrace`, as superuser. Holds the password. */
  readonly url: string;
  /** Resolves when the server is gone, for whatever reason. */
  readonly ended: Promise<void>;
  /** Stops it: sessions are cut off, data is kept. Resolves when it is gone. */
  stop(): Promise<void>;
  /** Stops it without a checkpoint; the next start recovers. */
  kill(): void;
}

const DATABASE = 'millrace';
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 30_000;

/** Starts a PostgreSQL of one's own that listens on 127.0.0.1 only. Throws a `Fault` when it cannot. */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const account = postgresAccount();
  openDataDir(options.dataDir, account);
  const binaries = await findPostgres(account);
  const cluster = await openCluster(join(options.dataDir, 'postgres'), binaries, account);
  await stopLeftServer(cluster.data, options.log);

  const logFile = options.logFile ?? join(cluster.home, 'postgresql.log');
  const start = async (port: number): Promise<ChildProcess> => {
    const output = openSync(logFile, 'a');
    const child = spawn(binaries.postgres, serverArguments(cluster, port, options.settings), {
      cwd: cluster.data,
      env: serverEnv(),
      stdio: ['ignore', output, output],
      // Out of reach of a terminal's Ctrl-C: its clients are stopped first.
      detached: true,
      ...account,
    });
    closeSync(output);
    if (child.pid !== undefined) {
      const tie = endWith(child.pid, 'INT');
      child.once('exit', () => tie.cut());
    }
    await waitUntilReady(child, cluster.data, logFile);
    return child;
  };

  let port = await freePort(readPort(cluster.portFile));
  const child = await start(port).catch(async (error: unknown) => {
    // Somebody took the port between the look and the start.
    if (!(error instanceof Fault) || !error.message.includes('Address already in use')) throw error;
    port = await freePort();
    return start(port);
  });
  writeFileSync(cluster.portFile, `${port}\n`);
  return running(
    child,
    `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${DATABASE}`,
  );
}

async function running(child: ChildProcess, url: string): Promise<EmbeddedPostgres> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const pid = child.pid ?? 0;
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    signal(pid, 'SIGINT');
    const timer = setTimeout(() => signal(pid, 'SIGQUIT'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    await createDatabase(url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, ended, stop, kill: () => signal(pid, 'SIGQUIT') };
}

function serverArguments(
  cluster: Cluster,
  port: number,
  settings: PostgresOptions['settings'] = {},
): string[] {
  const all = { ...settings, listen_addresses: '127.0.0.1', port, unix_socket_directories: '' };
  return [
    '-D',
    cluster.data,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

function readPort(file: string): number | undefined {
  const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : Number.NaN;
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

async function waitUntilReady(child: ChildProcess, data: string, logFile: string): Promise<void> {
  const failure: { message?: string } = {};
  child.once('error', ({ message }) => Object.assign(failure, { message }));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (readStatus(data, child.pid) !== 'ready') {
    if (child.exitCode !== null || child.signalCode !== null || failure.message) {
      throw new Fault(
        `PostgreSQL did not start: ${failure.message ?? lastFault(logFile)} (log: ${logFile})`,
      );
    }
    if (Date.now() > deadline) {
      child.kill('SIGQUIT');
      throw new Fault(
        `PostgreSQL was not ready after ${START_TIMEOUT_MS / 1000} s (log: ${logFile})`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

function lastFault(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-10);
  const faults = lines.filter((line) => /(FATAL|PANIC|ERROR|could not)/.test(line));
  return faults.length > 0
    ? faults.map((line) => line.replace(/^.*?(LOG|FATAL|PANIC|ERROR): {2}/, '')).join('; ')
    : (lines.at(-1) ?? '');
}
