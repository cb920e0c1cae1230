import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A connection to PostgreSQL that goes through the proxy. */
export interface ProxiedConnection {
  /** As the client called itself when it connected. */
  readonly applicationName: () => string;
  /** Whether the client has sent a LISTEN. */
  readonly listens: () => boolean;
}

export interface TcpProxy {
  /** The database's URL, by way of the proxy. */
  readonly url: string;
  /** The names of those that listen and are not frozen, in order. */
  readonly listeners: () => string[];
  /**
   * Forwards nothing more on the chosen connections, or none of the server's answers, and closes
   * nothing: neither end is told. Connections made later pass. Answers how many it froze.
   */
  freeze(which?: (connection: ProxiedConnection) => boolean, flow?: 'both' | 'answers'): number;
  /** Breaks the chosen connections, so that both ends notice. Answers how many it broke. */
  cut(which?: (connection: ProxiedConnection) => boolean): number;
  close(): Promise<void>;
}

interface Link extends ProxiedConnection {
  readonly frozen: () => boolean;
  /** Whether its client has not left it. */
  readonly held: () => boolean;
  freeze(flow: 'both' | 'answers'): void;
  destroy(): void;
}

const all = (): boolean => true;

/** A listener on 127.0.0.1 before the PostgreSQL server of this URL. */
export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl);
  const links = new Set<Link>();
  const held = (): Link[] => [...links].filter((link) => link.held());
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({
      host: target.hostname,
      port: Number(target.port || 5432),
      allowHalfOpen: true,
      noDelay: true,
    });
    const link = joinSockets(client, upstream, () => links.delete(link));
    links.add(link);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString(),
    listeners: () =>
      held()
        .filter((link) => link.listens() && !link.frozen())
        .map((link) => link.applicationName())
        .sort(),
    freeze(which = all, flow = 'both') {
      const chosen = held().filter((link) => which(link));
      for (const link of chosen) link.freeze(flow);
      return chosen.length;
    },
    cut(which = all) {
      const chosen = held().filter((link) => which(link));
      for (const link of chosen) link.destroy();
      return chosen.length;
    },
    async close() {
      server.close();
      for (const link of links) link.destroy();
      await once(server, 'close');
    },
  };
}

function joinSockets(client: Socket, upstream: Socket, onGone: () => void): Link {
  let frozen: 'no' | 'answers' | 'both' = 'no';
  let startup = '';
  let listens = false;
  let held = true;

  const destroy = (): void => {
    onGone();
    client.destroy();
    upstream.destroy();
  };
  client.on('data', (chunk) => {
    const text = chunk.toString('latin1');
    startup ||= text;
    listens ||= /\blisten /i.test(text);
    if (frozen !== 'both') upstream.write(chunk);
  });
  upstream.on('data', (chunk) => {
    // Read and dropped: the sender goes on to believe that it was heard.
    if (frozen === 'no') client.write(chunk);
  });
  client.on('end', () => {
    held = false;
    if (frozen !== 'both') upstream.end();
  });
  upstream.on('end', () => frozen === 'no' && client.end());
  for (const socket of [client, upstream]) {
    // Of a frozen connection neither end learns what became of the other.
    const gone = (): void => {
      if (socket === client) held = false;
      if (frozen === 'no') destroy();
    };
    socket.on('error', gone);
    socket.on('close', gone);
  }
  return {
    applicationName: () => /\0application_name\0([^\0]*)\0/.exec(startup)?.[1] ?? '',
    listens: () => listens,
    frozen: () => frozen !== 'no',
    held: () => held,
    freeze: (flow) => (frozen = flow),
    destroy,
  };
}
