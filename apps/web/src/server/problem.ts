import { ERRORS, type JobErrorCode } from '@millrace/jobs/contract/errors';

/**
 * An RFC 9457 problem document. `detail` and `details`, further facts for programs, must be safe to show
 * and to log.
 */
export function problem(
  code: JobErrorCode,
  detail: string,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
  details: Readonly<Record<string, unknown>> = {},
): Response {
  const { status, title } = ERRORS[code];
  const type = `urn:millrace:problem:${code}`;
  const further = Object.keys(details).length > 0 ? { details } : {};
  return Response.json(
    { type, title, status, detail, code, requestId, ...further },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  );
}
