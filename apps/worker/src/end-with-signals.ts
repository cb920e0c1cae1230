import { absorbEscapedError } from '@millrace/jobs/engine/absorb-escaped-error';
import type { Logger } from 'pino';

/** Ends the process: `exitCode` afterwards, running attempts get `timeoutMs`. */
export type Stop = (why: string, exitCode: number, timeoutMs: number) => Promise<void>;

/**
 * Stops the worker on SIGTERM and SIGINT, when its parent is gone, and on an error that escaped from
 * neither a handler nor a graphile pool.
 */
export function endWithSignals(stop: Stop, stopTimeoutMs: number, log: Logger): void {
  const escaped = (error: unknown): void => {
    if (absorbEscapedError(error)) return;
    log.fatal({ err: error }, 'an error escaped; the worker hands its runs back and ends');
    void stop('an error escaped', 1, 0);
  };
  process.on('uncaughtException', escaped);
  process.on('unhandledRejection', escaped);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void stop(signal, 0, stopTimeoutMs));
  }
  // A supervisor that holds the channel takes its workers along, also when it is killed.
  if (process.channel) {
    process.on('disconnect', () => void stop('the parent process is gone', 0, stopTimeoutMs));
  }
}
