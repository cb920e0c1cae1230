/** Every error that leaves the system by its code: the HTTP status and the fixed title. */
export const ERRORS = {
  invalid_job_config: { status: 422, title: 'The job configuration is not valid' },
  invalid_job_args: { status: 422, title: 'The job arguments are not valid' },
  invalid_idempotency_key: { status: 400, title: 'The Idempotency-Key is not valid' },
  invalid_slot: { status: 400, title: 'X-Scheduled-For is not valid' },
  invalid_job_id: { status: 400, title: 'The job id is not valid' },
  invalid_wait: { status: 400, title: 'wait is not valid' },
  invalid_cursor: { status: 400, title: 'The cursor is not valid' },
  body_not_accepted: { status: 400, title: 'This endpoint accepts no body' },
  unauthenticated: { status: 401, title: 'Authentication is required' },
  forbidden: { status: 403, title: 'The permission is missing' },
  job_definition_not_found: { status: 404, title: 'There is no such job definition' },
  route_not_found: { status: 404, title: 'There is nothing here' },
  job_not_found: { status: 404, title: 'There is no such job' },
  queue_not_found: { status: 404, title: 'There is no such queue' },
  method_not_allowed: { status: 405, title: 'The method is not allowed' },
  job_definition_disabled: { status: 409, title: 'The job definition is disabled' },
  rate_limited: { status: 429, title: 'Too many requests' },
  job_failed: { status: 500, title: 'The job failed' },
  internal_error: { status: 500, title: 'Internal error' },
  already_running: { status: 503, title: 'The job is running already' },
  unavailable: { status: 503, title: 'The service is not available right now' },
} as const satisfies Record<string, { status: number; title: string }>;
export type JobErrorCode = keyof typeof ERRORS;

/** An error with a code of {@link ERRORS}; `message` may be shown to the caller. */
export class JobError extends Error {
  readonly code: JobErrorCode;

  constructor(code: JobErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JobError';
    this.code = code;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
