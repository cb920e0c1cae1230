import type { Logger } from 'pino';

import { type ControlChannel, startControlChannel } from '../control/control-channel.ts';

interface JobWaitersOptions {
  readonly connectionString: string;
  readonly log: Logger;
  /** Callers beyond this many are not held. */
  readonly maxWaiters: number;
}

export interface JobWaiter {
  /** Resolves when the job may have ended, at the latest when the time is over. Never rejects. */
  readonly woken: Promise<void>;
  leave(): void;
}

/** Holds callers until a job is done, by notification. */
export interface JobWaiters {
  /** Starts waiting; null when too many are waiting already. Look at the job after this call. */
  wait(jobId: string, forMs: number): JobWaiter | null;
  stop(): Promise<void>;
}

export function createJobWaiters(options: JobWaitersOptions): JobWaiters {
  const waiting = new Map<string, Set<() => void>>();
  let count = 0;
  let channel: ControlChannel | undefined;

  const wake = (jobId: string): void => {
    for (const waiter of waiting.get(jobId) ?? []) waiter();
  };
  const listen = (): ControlChannel =>
    startControlChannel({
      connectionString: options.connectionString,
      applicationName: 'millrace web control',
      log: options.log,
      onMessage: (message) => {
        if ('done' in message) wake(message.done);
      },
      // What was announced before, nobody heard.
      onConnect: () => [...waiting.keys()].forEach(wake),
    });

  return {
    wait(jobId, forMs) {
      if (count >= options.maxWaiters) return null;
      channel ??= listen();
      count++;
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiters = waiting.get(jobId) ?? new Set();
      waiting.set(jobId, waiters.add(resolve));
      const timer = setTimeout(resolve, forMs);
      return {
        woken: promise,
        leave() {
          clearTimeout(timer);
          if (!waiters.delete(resolve)) return;
          count--;
          if (waiters.size === 0) waiting.delete(jobId);
        },
      };
    },
    stop: () => channel?.stop() ?? Promise.resolve(),
  };
}
