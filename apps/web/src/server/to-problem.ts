import { JobError } from '@millrace/jobs/contract/errors';
import { isConnectionError } from '@millrace/jobs/engine/single-flight-writer';
import type { Logger } from 'pino';

import { problem } from './problem.ts';

/** What a caller may know of whatever a handler threw; what is not the caller's doing is logged. */
export function toJobError(error: unknown, requestId: string, log: Logger): JobError {
  if (error instanceof JobError) return error;
  if (isConnectionError(error) || isStatementTimeout(error)) {
    log.error({ err: error, requestId }, 'the database is not available');
    return new JobError('unavailable', 'The database is not available; try again.');
  }
  log.error({ err: error, requestId }, 'unexpected error');
  return new JobError('internal_error', 'The error has been logged with this request id.');
}

/** The problem document of whatever a handler threw. */
export function toProblem(error: unknown, requestId: string, log: Logger): Response {
  const { code, message, status, details } = toJobError(error, requestId, log);
  const retryAfter = status === 503 || status === 429 ? { 'retry-after': '5' } : {};
  return problem(code, message, requestId, retryAfter, details);
}

function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
