import { currentExecution } from './execute-run.ts';
import { breakCurrentRunner } from './queues/queue-runner.ts';

/**
 * For the process's `uncaughtException` and `unhandledRejection` handlers: ends the one run whose
 * handler let the error escape (in a timer's callback, in a promise it forgot), or replaces the one
 * graphile pool in whose code it arose. False when it came from elsewhere: the process should end.
 */
export function absorbEscapedError(error: unknown): boolean {
  const execution = currentExecution();
  if (!execution) return breakCurrentRunner(error);
  execution.crash(error);
  return true;
}
