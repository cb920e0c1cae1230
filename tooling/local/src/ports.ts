import { once } from 'node:events';
import { createServer } from 'node:net';

import { hasCode } from './fault.ts';

/** Why nothing can listen on this port of this address, or null when it is free. */
export async function portFault(port: number, host = '127.0.0.1'): Promise<string | null> {
  try {
    await listen(port, host);
    return null;
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return `port ${port} is taken by another program`;
    if (hasCode(error, 'EACCES')) return `port ${port} needs the rights of root`;
    // A machine without IPv6.
    if (hasCode(error, 'EADDRNOTAVAIL', 'EAFNOSUPPORT')) return null;
    throw error;
  }
}

/** A port of 127.0.0.1 that was free just now; the preferred one if it is. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portFault(preferred)) === null) return preferred;
  return listen(0, '127.0.0.1');
}

async function listen(port: number, host: string): Promise<number> {
  const server = createServer();
  server.listen({ port, host, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : port;
}
