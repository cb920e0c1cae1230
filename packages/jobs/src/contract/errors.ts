/** Every error that leaves the system by its code: the HTTP status and the fixed title. */
export const ERRORS = {
  invalid_job_config: { status: 422, title: 'The job configuration is not valid' },
  invalid_job_args: { status: 422, title: 'The job arguments are not valid' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  job_reason_required: { status: 422, title: 'A reason is required' },
  queue_not_active: { status: 422, title: 'No live worker runs the queue' },
  invalid_job_state: { status: 422, title: 'The state of the job does not allow it' },
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
  worker_not_found: { status: 404, title: 'There is no such worker' },
  slot_not_found: { status: 404, title: 'There is no such slot' },
  bulk_action_not_found: { status: 404, title: 'There is no such bulk action' },
  token_not_found: { status: 404, title: 'There is no such token' },
  queue_not_found: { status: 404, title: 'There is no such queue' },
  method_not_allowed: { status: 405, title: 'The method is not allowed' },
  job_definition_version_conflict: { status: 409, title: 'Somebody else changed it meanwhile' },
  arguments_erased: { status: 409, title: 'The arguments have been erased' },
  job_definition_disabled: { status: 409, title: 'The job definition is disabled' },
  rate_limited: { status: 429, title: 'Too many requests' },
  job_failed: { status: 500, title: 'The job failed' },
  internal_error: { status: 500, title: 'Internal error' },
  already_running: { status: 503, title: 'The job is running already' },
  unavailable: { status: 503, title: 'The service is not available right now' },
} as const satisfies Record<string, { status: number; title: string }>;
export type JobErrorCode = keyof typeof ERRORS;

export interface JobErrorOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An error with a code of {@link ERRORS}; `message` may be shown to the caller. */
export class JobError extends Error {
  readonly code: JobErrorCode;
  /** Further facts for the caller, such as the version that is current. Safe to show. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: JobErrorCode, message: string, options: JobErrorOptions = {}) {
    super(message, options);
    this.name = 'JobError';
    this.code = code;
    this.details = options.details ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
