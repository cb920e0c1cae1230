import type { ManagerContext } from '@millrace/jobs/manager/verb';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';

import { webServer } from '../jobs.ts';
import { authenticate } from '../ops/authenticate.ts';
import { readBytes } from '../ops/read-input.ts';
import { requestIdOf } from '../request-facts.ts';
import { toJobError, toProblem } from '../to-problem.ts';
import { opsRouter } from './ops-router.ts';

/** The router over HTTP, behind the same tokens, limits and errors as `/ops`. */
export async function trpcRoute(request: Request): Promise<Response> {
  const startedAt = performance.now();
  const requestId = requestIdOf(request);
  const server = webServer();
  const { pool, registry, log } = server;
  let manager: Promise<ManagerContext> | undefined;
  let response: Response;
  try {
    response = await fetchRequestHandler({
      endpoint: '/api/trpc',
      req: await bounded(request),
      router: opsRouter,
      createContext: () => ({
        requestId,
        manager: () =>
          (manager ??= authenticate(request, requestId, server).then((actor) => ({
            pool,
            registry,
            actor,
            requestId,
          }))),
        describe: (error) => toJobError(error, requestId, log),
      }),
    });
  } catch (error) {
    response = toProblem(error, requestId, log);
  }
  response.headers.set('x-request-id', requestId);
  response.headers.set('cache-control', 'no-store');
  server.measureHttp({
    method: request.method,
    route: '/api/trpc',
    status: response.status,
    durationMs: performance.now() - startedAt,
  });
  return response;
}

/** The request with its body read, which is then known to be small. */
async function bounded(request: Request): Promise<Request> {
  if (!request.body) return request;
  const { url, method, headers } = request;
  return new Request(url, { method, headers, body: Buffer.from(await readBytes(request)) });
}
