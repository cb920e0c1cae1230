import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

export interface Readiness {
  readonly ready: boolean;
  /** Why not, in words for an operator; `ok` when ready. */
  readonly detail: string;
}

/** Prometheus's text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Serves `/healthz` (200 while the process lives), `/readyz` (200 while it can work, else 503) and
 * `/metrics`. Throws when the port is taken.
 */
export async function startHealthServer(
  port: number,
  readiness: () => Promise<Readiness>,
  metricsPage: () => Promise<string>,
): Promise<Server> {
  const server = createServer((request, response) => {
    const respond = (status: number, detail: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
      response.end(`${detail}\n`);
    };
    const respondMetrics = (page: string): void => {
      response.writeHead(200, { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' });
      response.end(page);
    };
    switch (request.url) {
      case '/healthz':
        return respond(200, 'ok');
      case '/readyz':
        return void readiness().then(
          ({ ready, detail }) => respond(ready ? 200 : 503, detail),
          () => respond(503, 'the database cannot be reached'),
        );
      case '/metrics':
        return void metricsPage().then(respondMetrics, () => respond(500, 'no metrics'));
      default:
        return respond(404, 'not found');
    }
  });
  server.listen(port);
  await once(server, 'listening');
  return server;
}
