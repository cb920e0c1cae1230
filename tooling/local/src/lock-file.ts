import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

import { Fault, hasCode } from './fault.ts';
import { commandLine } from './process-table.ts';

/**
 * Takes the lock, a file that holds our process id, and returns what gives it back. A lock whose
 * process is gone, or is another program by now, is taken over. Throws a `Fault` when it is held.
 */
export function takeLock(path: string, program: string, pid = process.pid): () => void {
  const own = `${path}.${pid}`;
  writeFileSync(own, `${pid}\n`);
  try {
    for (;;) {
      try {
        // A link appears with its content, or not at all.
        linkSync(own, path);
        return () => release(path, pid);
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
        takeAway(path, program, pid);
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function takeAway(path: string, program: string, pid: number): void {
  const holder = readHolder(path);
  if (holder !== null && holder !== pid && commandLine(holder)?.includes(program)) {
    throw new Fault(`already running on this data directory (pid ${holder}, lock ${path})`);
  }
  const stale = `${path}.stale.${pid}`;
  try {
    renameSync(path, stale);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  rmSync(stale, { force: true });
}

function release(path: string, pid: number): void {
  if (readHolder(path) === pid) rmSync(path, { force: true });
}

function readHolder(path: string): number | null {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}
