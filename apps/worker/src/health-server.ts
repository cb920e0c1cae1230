import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

export interface Readiness {
  readonly ready: boolean;
  /** Why not, in words for an operator; `ok` when ready. */
  readonly detail: string;
}

/**
 * Serves `/healthz` (200 while the process lives) and `/readyz` (200 while it can work, else 503).
 * Throws when the port is taken.
 */
export async function startHealthServer(
  port: number,
  readiness: () => Promise<Readiness>,
): Promise<Server> {
  const server = createServer((request, response) => {
    const respond = (status: number, detail: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
      response.end(`${detail}\n`);
    };
    switch (request.url) {
      case '/healthz':
        return respond(200, 'ok');
      case '/readyz':
        return void readiness().then(
          ({ ready, detail }) => respond(ready ? 200 : 503, detail),
          () => respond(503, 'the database cannot be reached'),
        );
      default:
        return respond(404, 'not found');
    }
  });
  server.listen(port);
  await once(server, 'listening');
  return server;
}
