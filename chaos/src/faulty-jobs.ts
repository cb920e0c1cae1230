import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { defineJob } from '@millrace/jobs/authoring/define-job';
import type { HandlerContext } from '@millrace/jobs/authoring/handler';
import { z } from 'zod';

import { recorded } from './recorded.ts';

const args = z.object({});
const retry = { firstDelayMs: 10, factor: 1, jitter: 0 };

export const deadly = defineJob({
  name: 'deadly',
  description: 'Ends its process, every time.',
  args,
  maxAttempts: 50,
});

export const hoarding = defineJob({
  name: 'hoarding',
  description: 'Allocates until its process is killed, every time.',
  args,
  maxAttempts: 50,
});

export const blocking = defineJob({
  name: 'blocking',
  description: 'Blocks the event loop in its first attempt.',
  args: z.object({ forMs: z.number() }),
  newArgs: () => ({ forMs: 0 }),
  maxAttempts: 50,
});

/** Longer than its timeout and the grace after it: its run ends without it. */
const DEAF_MS = 4_500;

export const deaf = defineJob({
  name: 'deaf',
  description: 'Ignores its signal at its timeout.',
  args,
  timeout: '1s',
  maxAttempts: 2,
  retry,
});

/**
 * What a handler may throw, each made when it is needed. No name is a part of its message: what is in a
 * run's arguments is redacted there.
 */
export const THROWN = {
  error: () => new Error('plain'),
  'a string': () => 'some text',
  'no value': () => undefined,
  'no object': () => null,
  'a property': () => objectThatThrows('message'),
  'error with getters': () =>
    Object.defineProperties(new Error('hidden'), throwingGetters('name', 'message', 'stack')),
  'own inspection': () => objectThatThrows(inspect.custom),
  'revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'huge message': () => new Error('x'.repeat(8_000_000)),
} as const satisfies Record<string, () => unknown>;

export const HOW = ['throws', 'timer', 'forgotten', 'afterwards'] as const;

export const throwing = defineJob({
  name: 'throwing',
  description: 'Throws anything, in any way.',
  args: z.object({ what: z.string(), how: z.enum(HOW) }),
  newArgs: () => ({ what: 'error', how: HOW[0] }),
  maxAttempts: 2,
  retry,
});

export const faultyDefinitions = [deadly, hoarding, blocking, deaf, throwing];

const always = (): boolean => true;
const firstAttempt = ({ attempt }: HandlerContext): boolean => attempt === 1;

export const faultyHandlers = {
  deadly: recorded(() => process.exit(9), always),
  hoarding: recorded(hoard, always),
  blocking: recorded((ctx, { forMs }: { forMs: number }) => {
    const until = Date.now() + (firstAttempt(ctx) ? forMs : 0);
    while (Date.now() < until);
    return Promise.resolve();
  }, firstAttempt),
  deaf: recorded(() => sleep(DEAF_MS), always),
  throwing: recorded(letEscape, always),
};

async function hoard(): Promise<void> {
  const kept: number[][] = [];
  for (;;) {
    // Fractions, so that each array is on the heap that the limit is for.
    kept.push(Array<number>(500_000).fill(0.5));
    await sleep(1);
  }
}

interface Escape {
  readonly what: string;
  readonly how: (typeof HOW)[number];
}

/** After the handler has returned and its ending has been written. */
const AFTERWARDS_MS = 1_000;

async function letEscape({ signal }: HandlerContext, { what, how }: Escape): Promise<void> {
  const thrown = THROWN[what as keyof typeof THROWN]() as Error;
  const throwIt = (): never => {
    throw thrown;
  };
  switch (how) {
    case 'throws':
      return throwIt();
    case 'timer':
      setTimeout(throwIt, 5);
      return aborted(signal);
    case 'forgotten':
      void Promise.reject(thrown);
      return aborted(signal);
    case 'afterwards':
      setTimeout(throwIt, AFTERWARDS_MS);
      return;
  }
}

/** Pending until the signal fires. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

function objectThatThrows(key: PropertyKey): object {
  return Object.defineProperties({}, throwingGetters(key));
}

function throwingGetters(...keys: PropertyKey[]): PropertyDescriptorMap {
  const get = (): never => {
    throw new Error('nobody may look');
  };
  return Object.fromEntries(keys.map((key) => [key, { get, enumerable: true }]));
}
