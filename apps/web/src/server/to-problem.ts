import { JobError } from '@millrace/jobs/contract/errors';
import { isConnectionError } from '@millrace/jobs/engine/single-flight-writer';
import type { Logger } from 'pino';

import { problem } from './problem.ts';

/** The problem document of whatever a handler threw; what is not the caller's doing is logged. */
export function toProblem(error: unknown, requestId: string, log: Logger): Response {
  if (error instanceof JobError) {
    const retryAfter = error.status === 503 || error.status === 429 ? { 'retry-after': '5' } : {};
    return problem(error.code, error.message, requestId, retryAfter, error.details);
  }
  if (isConnectionError(error) || isStatementTimeout(error)) {
    log.error({ err: error, requestId }, 'the database is not available');
    return problem('unavailable', 'The database is not available; try again.', requestId, {
      'retry-after': '5',
    });
  }
  log.error({ err: error, requestId }, 'unexpected error');
  return problem('internal_error', 'The error has been logged with this request id.', requestId);
}

function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
