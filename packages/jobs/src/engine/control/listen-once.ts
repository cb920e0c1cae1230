import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { databaseUrl, destroyConnection } from '@millrace/db/pool';
import pg from 'pg';

import { listen, notify } from '../sql/control.ts';
import type { ControlChannelOptions, ControlMessage } from './control-message.ts';

const PROBE_MS = 5_000;
const GOODBYE_MS = 500;

/** One connection that listens. */
export interface Listening {
  /** Why it ended. Never rejects. */
  readonly ended: Promise<string>;
  end(why: string): void;
}

/**
 * Listens on a connection of its own and probes it: a connection over which its own notification does
 * not come back until the next probe is due, half-open ones included, is ended.
 */
export async function listenOnce(options: ControlChannelOptions): Promise<Listening> {
  const probeMs = options.probeMs ?? PROBE_MS;
  const client = new pg.Client({
    connectionString: databaseUrl(options.connectionString),
    application_name: options.applicationName,
    connectionTimeoutMillis: 3_000,
    keepAlive: true,
    // The connection may die without a word before it is probed for the first time.
    query_timeout: probeMs,
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  client.on('error', ({ message }: Error) => end(message));
  client.on('end', () => end('the connection was closed'));

  let probe = '';
  client.on('notification', ({ payload }) => {
    const message = parse(payload);
    if (message === null) return;
    if ('probe' in message) {
      if (message.probe === probe) probe = '';
    } else {
      options.onMessage(message);
    }
  });

  try {
    await client.connect();
    await client.query(listen);
  } catch (error) {
    destroyConnection(client);
    throw error;
  }
  const timer = setInterval(() => {
    if (probe !== '') return end('a probe did not come back');
    probe = randomUUID();
    client
      .query(notify, [JSON.stringify({ probe })])
      .catch((error: unknown) => end(`a probe failed: ${String(error)}`));
  }, probeMs);
  void ended.then(() => {
    clearInterval(timer);
    client.removeAllListeners('notification');
    return sayGoodbye(client);
  });
  return { ended, end };
}

/** Closes the connection, by force when the other end does not answer. */
async function sayGoodbye(client: pg.Client): Promise<void> {
  await Promise.race([client.end(), sleep(GOODBYE_MS, undefined, { ref: false })]).catch(
    () => undefined,
  );
  destroyConnection(client);
}

function parse(payload: string | undefined): ControlMessage | null {
  try {
    const message: unknown = JSON.parse(payload ?? '');
    return typeof message === 'object' && message !== null ? (message as ControlMessage) : null;
  } catch {
    return null;
  }
}
