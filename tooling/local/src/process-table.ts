import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

import { hasCode } from './fault.ts';

/** Whether a process has this id. One that ended and whose parent did not ask for it yet has not. */
export function isAlive(pid: number): boolean {
  return hasEntry(pid) && !isZombie(pid);
}

/** Whether the id is in use, be it by the remains of a process. */
export function hasEntry(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

function isZombie(pid: number): boolean {
  try {
    // "123 (name, perhaps with parentheses) Z 1 …"
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The command line of a living process, its arguments separated by spaces; null when it is gone. */
export function commandLine(pid: number): string | null {
  if (!isAlive(pid)) return null;
  if (existsSync('/proc/self/cmdline')) {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    } catch {
      return null;
    }
  }
  const { status, stdout } = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], {
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : null;
}

/** Sends a signal to a process that may be gone already. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

/** Whether the process ended within the time. */
export async function waitForEnd(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}
