import { ERRORS, type JobErrorCode } from '@millrace/jobs/contract/errors';

/** An RFC 9457 problem document. `detail` must be safe to show and to log. */
export function problem(
  code: JobErrorCode,
  detail: string,
  requestId: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title } = ERRORS[code];
  return Response.json(
    { type: `urn:millrace:problem:${code}`, title, status, detail, code, requestId },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  );
}
