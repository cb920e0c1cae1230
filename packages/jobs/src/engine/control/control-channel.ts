import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { databaseUrl } from '@millrace/db/pool';
import pg from 'pg';
import type { Logger } from 'pino';

/** What processes tell each other through PostgreSQL: ids only. */
export type ControlMessage =
  | { readonly cancel: string }
  | { readonly done: string }
  | { readonly probe: string };

export interface ControlChannel {
  /** Whether the last probe came back. */
  readonly live: () => boolean;
  stop(): Promise<void>;
}

interface ControlChannelOptions {
  readonly connectionString: string;
  readonly applicationName: string;
  readonly log: Logger;
  readonly onMessage: (message: ControlMessage) => void;
  /** Called after every (re)connection: what was said in between has been missed. */
  readonly onConnect: () => void;
  /** How often the connection is probed, and how long a probe may take; 5 s unless given. */
  readonly probeMs?: number;
}

const CHANNEL = 'millrace';
const MAX_BACKOFF_MS = 2_000;

/**
 * Listens on a connection of its own. It notifies itself at intervals: a connection over which the
 * notification does not come back, half-open ones included, is replaced.
 */
export function startControlChannel(options: ControlChannelOptions): ControlChannel {
  const probeMs = options.probeMs ?? 5_000;
  let stopped = false;
  let live = false;
  let end: (() => void) | undefined;

  async function listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: databaseUrl(options.connectionString),
      application_name: options.applicationName,
      connectionTimeoutMillis: 3_000,
      keepAlive: true,
    });
    let probe = '';
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
      client.on('error', () => resolve());
      client.on('end', () => resolve());
    });
    client.on('notification', ({ payload }) => {
      const message = parse(payload);
      if (!message) return;
      if ('probe' in message && message.probe === probe) probe = '';
      else options.onMessage(message);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      live = true;
      options.onConnect();
      timer = setInterval(() => {
        if (probe !== '') {
          options.log.warn('the control channel is silent; it is replaced');
          end?.();
          return;
        }
        probe = randomUUID();
        client
          .query('select pg_notify($1, $2)', [CHANNEL, JSON.stringify({ probe })])
          .catch(() => end?.());
      }, probeMs);
      await ended;
    } finally {
      clearInterval(timer);
      live = false;
      client.removeAllListeners('notification');
      // A half-open connection never says good-bye.
      void Promise.race([client.end(), sleep(500, undefined, { ref: false })])
        .catch(() => undefined)
        .then(() => destroy(client));
    }
  }

  async function keepListening(): Promise<void> {
    for (let failures = 0; !stopped; failures++) {
      const since = Date.now();
      await listen().catch((error: unknown) => {
        options.log.warn({ err: error }, 'the control channel cannot connect');
      });
      if (Date.now() - since > MAX_BACKOFF_MS) failures = 0;
      if (!stopped) await sleep(Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures), undefined, { ref: false });
    }
  }

  const running = keepListening();
  return {
    live: () => live,
    async stop() {
      stopped = true;
      end?.();
      await running;
    },
  };
}

function parse(payload: string | undefined): ControlMessage | null {
  try {
    const message: unknown = JSON.parse(payload ?? '');
    return typeof message === 'object' && message !== null ? (message as ControlMessage) : null;
  } catch {
    return null;
  }
}

/** The socket under a client, which `pg` keeps to itself. */
function destroy(client: pg.Client): void {
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } };
  connection?.stream?.destroy();
}
