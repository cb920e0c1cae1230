import type { Caller } from '@millrace/jobs/contract/caller';
import { JobError } from '@millrace/jobs/contract/errors';
import { authenticateToken } from '@millrace/jobs/manager/tokens/authenticate-token';

import { FailureLimit } from '../failure-limit.ts';
import type { WebServer } from '../jobs.ts';
import { addressOf } from '../request-facts.ts';

/** Wrong tokens per minute: of one address, and of all (an address is easily made up). */
const failures = new FailureLimit({ perAddress: 20, total: 600, windowMs: 60_000 });

/** Who calls, by the API token. Throws `unauthenticated` and `rate_limited`. */
export async function authenticate(
  request: Request,
  requestId: string,
  { pool, log }: Pick<WebServer, 'pool' | 'log'>,
): Promise<Caller> {
  const authorization = request.headers.get('authorization');
  if (authorization === null) {
    throw new JobError('unauthenticated', 'Send Authorization: Bearer <API token>.');
  }
  const token = /^Bearer +(\S{1,200})$/i.exec(authorization)?.[1];
  const actor = token === undefined ? null : await authenticateToken(pool, token);
  if (actor) return actor;
  if (!failures.admit(addressOf(request), Date.now())) {
    throw new JobError('rate_limited', 'Too many wrong tokens; try again in a minute.');
  }
  log.warn({ requestId }, 'a request with a wrong API token was refused');
  throw new JobError('unauthenticated', 'The token is unknown, expired or revoked.');
}

/** The challenge that belongs to a 401. */
export function challenge(request: Request): string {
  return request.headers.has('authorization') ? 'Bearer error="invalid_token"' : 'Bearer';
}
