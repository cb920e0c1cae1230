import { JobError } from '@millrace/jobs/contract/errors';

import { webServer } from '../jobs.ts';
import { problem } from '../problem.ts';
import { requestIdOf } from '../request-facts.ts';
import { toProblem } from '../to-problem.ts';
import { authenticate, challenge } from './authenticate.ts';
import { matchOpsPath, type OpsMethod } from './ops-routes.ts';
import { readBody, readQuery } from './read-input.ts';

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
    response = await dispatch();
  } catch (error) {
    response = toProblem(error, requestId, server.log);
    if (response.status === 401) response.headers.set('www-authenticate', challenge(request));
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

  async function dispatch(): Promise<Response> {
    const actor = await authenticate(request, requestId, server);
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
