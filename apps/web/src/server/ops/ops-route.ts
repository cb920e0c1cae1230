import type { Caller } from '@millrace/jobs/contract/caller';
import { JobError } from '@millrace/jobs/contract/errors';
import { authenticateToken } from '@millrace/jobs/manager/tokens/authenticate-token';

import { FailureLimit } from '../failure-limit.ts';
import { webServer, type WebServer } from '../jobs.ts';
import { problem } from '../problem.ts';
import { addressOf, requestIdOf } from '../request-facts.ts';
import { toProblem } from '../to-problem.ts';
import { matchOpsPath, type OpsMethod } from './ops-routes.ts';
import { readBody, readQuery } from './read-input.ts';

/** Wrong tokens per minute: of one address, and of all (an address is easily made up). */
const failures = new FailureLimit({ perAddress: 20, total: 600, windowMs: 60_000 });

/**
 * The only way to the operators' API: request id, the API token, the route, its input, the verb, which
 * checks the permission. Every error leaves as a problem document.
 */
export async function opsRoute(
  request: Request,
  { params }: { params: Promise<{ path?: string[] }> },
): Promise<Response> {
  const startedAt = performance.now();
  const requestId = requestIdOf(request);
  const server = webServer();
  const { path = [] } = await params;
  const match = matchOpsPath(['ops', ...path.map(decode)]);
  let response: Response;
  try {
    const actor = await authenticate(request, requestId, server);
    response = actor instanceof Response ? actor : await dispatch({ actor });
  } catch (error) {
    response = toProblem(error, requestId, server.log);
  }
  response.headers.set('x-request-id', requestId);
  response.headers.set('cache-control', 'no-store');
  server.measureHttp({
    method: request.method,
    route: [...match.methods.values()][0]?.path ?? '/ops/*',
    status: response.status,
    durationMs: performance.now() - startedAt,
  });
  return response;

  async function dispatch({ actor }: { actor: Caller }): Promise<Response> {
    if (match.methods.size === 0) {
      throw new JobError('route_not_found', 'There is nothing at this path.');
    }
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = match.methods.get(method as OpsMethod);
    if (!route) {
      const allow = [...match.methods.keys()].join(', ');
      return problem('method_not_allowed', `This path allows ${allow}.`, requestId, { allow });
    }
    const { searchParams } = new URL(request.url);
    const given =
      method === 'GET' || method === 'DELETE'
        ? readQuery(searchParams, route.input)
        : await readBody(request);
    const context = { pool: server.pool, registry: server.registry, actor, requestId };
    const output = await route.call(context, { ...given, ...match.params });
    return Response.json(output, { status: route.status });
  }
}

/** A segment that is no valid encoding matches nothing. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

async function authenticate(
  request: Request,
  requestId: string,
  { pool, log }: WebServer,
): Promise<Caller | Response> {
  const authorization = request.headers.get('authorization');
  if (authorization === null) {
    return problem('unauthenticated', 'Send Authorization: Bearer <API token>.', requestId, {
      'www-authenticate': 'Bearer',
    });
  }
  const token = /^Bearer +(\S{1,200})$/i.exec(authorization)?.[1];
  const actor = token === undefined ? null : await authenticateToken(pool, token);
  if (actor) return actor;
  if (!failures.admit(addressOf(request), Date.now())) {
    return problem('rate_limited', 'Too many wrong tokens; try again later.', requestId, {
      'retry-after': '60',
    });
  }
  log.warn({ requestId }, 'a request with a wrong API token was refused');
  return problem('unauthenticated', 'The token is unknown, expired or revoked.', requestId, {
    'www-authenticate': 'Bearer error="invalid_token"',
  });
}
