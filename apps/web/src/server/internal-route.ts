import { FailureLimit } from './failure-limit.ts';
import { webServer, type WebServer } from './jobs.ts';
import { problem } from './problem.ts';
import { addressOf, requestIdOf } from './request-facts.ts';
import { checkSchedulerCredential } from './scheduler-auth.ts';
import { toProblem } from './to-problem.ts';

export interface InternalRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly server: WebServer;
  /** The path's parameters. */
  readonly params: Readonly<Record<string, string | string[] | undefined>>;
}

/** Wrong secrets per minute: of one address, and of all (an address is easily made up). */
const failures = new FailureLimit({ perAddress: 20, total: 600, windowMs: 60_000 });

type Handle = (call: InternalRequest) => Promise<Response>;
type Method = 'GET' | 'POST';
type Route = (
  request: Request,
  context: { params: Promise<Record<string, string | string[] | undefined>> },
) => Promise<Response>;

/**
 * The only way to a route under `/internal`: request id, the scheduler's secret, the method, then the
 * handler; every error leaves as a problem document that tells no more than its code. `pattern` stands
 * for the path in metrics.
 */
export function internalRoute(pattern: string, methods: Partial<Record<Method, Handle>>): Route {
  return async (request, context) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(request);
    const server = webServer();
    let response: Response;
    try {
      response =
        refuseCredential(request, requestId, server) ??
        (await dispatch(methods, { request, requestId, server, params: await context.params }));
    } catch (error) {
      response = toProblem(error, requestId, server.log);
    }
    response.headers.set('x-request-id', requestId);
    response.headers.set('cache-control', 'no-store');
    server.measureHttp({
      method: request.method,
      route: pattern,
      status: response.status,
      durationMs: performance.now() - startedAt,
    });
    return response;
  };
}

function refuseCredential(
  request: Request,
  requestId: string,
  { env, log }: WebServer,
): Response | null {
  if (env.DEV_AUTH === '1') return null;
  const credential = checkSchedulerCredential(request.headers.get('authorization'), {
    current: env.SCHEDULER_TOKEN,
    previous: env.SCHEDULER_TOKEN_PREVIOUS,
  });
  switch (credential) {
    case 'current':
      return null;
    case 'previous':
      log.info({ requestId }, 'the scheduler uses the previous secret');
      return null;
    case 'missing':
      return problem('unauthenticated', 'Send Authorization: Bearer <secret>.', requestId, {
        'www-authenticate': 'Bearer',
      });
    case 'wrong':
      if (!failures.admit(addressOf(request), Date.now())) {
        return problem('rate_limited', 'Too many wrong secrets; try again later.', requestId, {
          'retry-after': '60',
        });
      }
      log.warn({ requestId }, 'a request with a wrong scheduler secret was refused');
      return problem('unauthenticated', 'The secret is not valid.', requestId, {
        'www-authenticate': 'Bearer error="invalid_token"',
      });
  }
}

async function dispatch(
  methods: Partial<Record<Method, Handle>>,
  call: InternalRequest,
): Promise<Response> {
  const handle = methods[call.request.method as Method];
  if (handle) return handle(call);
  const allow = Object.keys(methods).join(', ');
  return problem('method_not_allowed', `This path allows ${allow}.`, call.requestId, { allow });
}
