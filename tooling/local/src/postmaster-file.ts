import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Fault } from './fault.ts';
import { commandLine, hasEntry, isAlive, signal, waitForEnd } from './process-table.ts';

const PATIENCE_MS = 30_000;

/** `starting`, `ready`, `stopping`, … of the server in this folder; null unless it has this id. */
export function readStatus(data: string, pid: number | undefined): string | null {
  const lines = readLines(data);
  return Number(lines[0]) === pid ? (lines[7]?.trim() ?? null) : null;
}

/**
 * Stops the server that a killed supervisor left running in this folder. Of a dead server the file is
 * left to PostgreSQL, which looks for survivors among its processes.
 */
export async function stopLeftServer(data: string, log: (line: string) => void): Promise<void> {
  const pid = Number(readLines(data)[0]);
  if (!Number.isInteger(pid) || pid <= 1 || !hasEntry(pid)) return;
  if (!isAlive(pid) || !commandLine(pid)?.includes(data)) {
    // The id belongs to another process by now, for which PostgreSQL would take it for running.
    rmSync(join(data, 'postmaster.pid'), { force: true });
    return;
  }
  log(`stopping the PostgreSQL that an earlier start left behind (pid ${pid})`);
  signal(pid, 'SIGINT');
  if (await waitForEnd(pid, PATIENCE_MS)) return;
  signal(pid, 'SIGQUIT');
  if (await waitForEnd(pid, PATIENCE_MS)) return;
  throw new Fault(`the PostgreSQL that an earlier start left behind (pid ${pid}) does not stop`);
}

function readLines(data: string): string[] {
  const file = join(data, 'postmaster.pid');
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  } catch {
    // Removed in between.
    return [];
  }
}
