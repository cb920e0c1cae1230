import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

import { useDatabase } from '@millrace/db/testing';
import pino from 'pino';
import { expect, it } from 'vitest';

import { listenOnce } from './listen-once.ts';

/** A way to the database that goes silent, both ends believing in it, when a client asks to listen. */
async function silentAtListen(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const closed: Promise<unknown>[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    upstream.on('data', (chunk) => client.write(chunk));
    client.on('data', (chunk) => {
      if (!chunk.includes('listen ')) upstream.write(chunk);
    });
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    closed.push(once(client, 'close').then(() => upstream.destroy()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.toString(), closed, stop: () => server.close() };
}

const database = useDatabase();

it('gives up, and leaves, a connection that goes silent before it has begun to listen', async () => {
  const silent = await silentAtListen(database.url);
  const listening = listenOnce({
    connectionString: silent.url,
    applicationName: 'millrace test',
    log: pino({ level: 'silent' }),
    onMessage: () => undefined,
    onConnect: () => undefined,
    probeMs: 200,
  });
  await expect(listening).rejects.toThrow('Query read timeout');
  expect(silent.closed).toHaveLength(1);
  await Promise.all(silent.closed);
  silent.stop();
});
