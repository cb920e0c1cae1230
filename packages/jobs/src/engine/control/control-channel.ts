import { setTimeout as sleep } from 'node:timers/promises';

import type { ControlChannelOptions } from './control-message.ts';
import { type Listening, listenOnce } from './listen-once.ts';

export interface ControlChannel {
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 2_000;

/** Keeps listening: a connection that ended is replaced until `stop`. */
export function startControlChannel(options: ControlChannelOptions): ControlChannel {
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;
  let listening: Listening | undefined;

  async function keepListening(): Promise<void> {
    for (let failures = 0; !isStopping(); failures++) {
      try {
        listening = await listenOnce(options);
        if (isStopping()) listening.end('stopped');
        failures = 0;
        options.onConnect();
        const why = await listening.ended;
        if (!isStopping()) options.log.warn({ why }, 'the control channel is replaced');
      } catch (error) {
        options.log.warn({ err: error }, 'the control channel cannot connect');
      }
      const backoffMs = Math.min(MAX_BACKOFF_MS, 100 * 2 ** failures);
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = keepListening();
  return {
    async stop() {
      stopping.abort();
      listening?.end('stopped');
      await running;
    },
  };
}
