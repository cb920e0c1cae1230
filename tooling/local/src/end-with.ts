import { spawn } from 'node:child_process';

export interface Tie {
  /** The process may outlive us now. */
  cut(): void;
}

/**
 * Ends a program that knows nothing of us when we end, however we end: a shell waits for the end of a
 * pipe that only we hold open. A negative number stands for a process group, as with kill(2).
 */
export function endWith(pid: number, signal: 'INT' | 'TERM'): Tie {
  const watch = spawn('/bin/sh', ['-c', 'read -r _; kill -s "$1" -- "$0"', String(pid), signal], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watch.unref();
  watch.once('error', () => undefined);
  return { cut: () => void watch.kill('SIGKILL') };
}
