import { spawn } from 'node:child_process';

export interface Tie {
  /** The process may outlive us now. */
  cut(): void;
}

/**
 * Interrupts a program that knows nothing of us when we end, however we end: a shell waits for the end
 * of a pipe that only we hold open.
 */
export function endWith(pid: number): Tie {
  const watch = spawn('/bin/sh', ['-c', 'read -r _; kill -INT "$0"', String(pid)], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watch.unref();
  watch.once('error', () => undefined);
  return { cut: () => void watch.kill('SIGKILL') };
}
