import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 10;

/**
 * The first value of `look` that is neither false nor null nor undefined. For what other processes or
 * connections will have done in a moment: throws when it has not come about by the deadline.
 */
export async function until<Value>(
  what: string,
  look: () => Value | Promise<Value>,
  deadlineMs = 15_000,
): Promise<Exclude<Value, false | null | undefined>> {
  const giveUpAt = Date.now() + deadlineMs;
  for (;;) {
    const value = await look();
    if (value !== false && value !== null && value !== undefined) {
      return value as Exclude<Value, false | null | undefined>;
    }
    if (Date.now() > giveUpAt) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}
