import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';

/** Writes one item together with whatever else is waiting; see {@link createSingleFlightWriter}. */
export type Write<Item, Result> = (item: Item) => Promise<Result>;

interface SingleFlightOptions<Item, Result> {
  /** Sends the items in one statement; answers one result per item, in their order. */
  readonly send: (items: readonly Item[], retry: boolean) => Promise<readonly Result[]>;
  readonly maxBatch: number;
  /** Whether a failed statement may be sent again; asked with how long it has been failing. */
  readonly mayRetry: (error: unknown, failingForMs: number) => boolean;
  /** An item that has waited for longer is refused instead of sent: its caller has given up. */
  readonly maxWaitMs?: number;
}

/** Says of an item that it was never sent. */
export class WaitedTooLong extends Error {
  override readonly name = 'WaitedTooLong';
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
}

/**
 * Groups concurrent writes of one process into few statements: sends at once when idle, collects
 * while a statement is in flight. One statement at a time, so that batches of one process never
 * deadlock each other. A batch that the database refuses is halved until the item at fault stands
 * alone and only its caller sees the error.
 */
export function createSingleFlightWriter<Item, Result>(
  options: SingleFlightOptions<Item, Result>,
): Write<Item, Result> {
  const { maxWaitMs = Infinity } = options;
  let waiting: Waiting<Item, Result>[] = [];
  let inFlight = false;

  /** Those of the batch whose callers still wait. */
  function wanted(batch: readonly Waiting<Item, Result>[]): readonly Waiting<Item, Result>[] {
    const tooOld = performance.now() - maxWaitMs;
    if (!batch.some(({ since }) => since < tooOld)) return batch;
    for (const { since, reject } of batch) {
      if (since < tooOld) reject(new WaitedTooLong('it waited too long to be written'));
    }
    return batch.filter(({ since }) => since >= tooOld);
  }

  async function deliver(given: readonly Waiting<Item, Result>[]): Promise<void> {
    const batch = wanted(given);
    if (batch.length === 0) return;
    const items = batch.map((entry) => entry.item);
    const firstFailure = { at: 0 };
    for (let tries = 0; ; tries++) {
      try {
        const results = await options.send(items, tries > 0);
        batch.forEach((entry, index) => entry.resolve(results[index] as Result));
        return;
      } catch (error) {
        firstFailure.at ||= Date.now();
        if (options.mayRetry(error, Date.now() - firstFailure.at)) {
          await sleep(Math.min(1_000, 20 * 2 ** tries));
        } else if (batch.length === 1 || isConnectionError(error)) {
          for (const entry of batch) entry.reject(error);
          return;
        } else {
          const middle = Math.ceil(batch.length / 2);
          await deliver(batch.slice(0, middle));
          await deliver(batch.slice(middle));
          return;
        }
      }
    }
  }

  async function drain(): Promise<void> {
    inFlight = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, options.maxBatch);
      waiting = waiting.slice(options.maxBatch);
      await deliver(batch);
      // What these results set free (handlers that end, permits) is written with the next batch.
      await immediate();
    }
    inFlight = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject, since: performance.now() });
      if (inFlight) return;
      inFlight = true;
      // The callers of one turn of the event loop travel together.
      queueMicrotask(() => void drain());
    });
}

/** Serialisation failure, deadlock, lock timeout, statement timeout. */
const RETRYABLE_SQLSTATES = new Set(['40001', '40P01', '55P03', '57014']);
const CONNECTION_ERRNOS = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT']);

/** Whether the connection failed, so that it is unknown whether the statement took effect. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code.startsWith('08') || code.startsWith('57P') || code === '53300') return true;
  if (CONNECTION_ERRNOS.has(code)) return true;
  return /connection (terminated|timeout|ended|error)|not queryable|read timeout|timeout exceeded when trying to connect/i.test(
    error.message,
  );
}

/** Whether the same statement may succeed when it is sent again. */
export function isTransientError(error: unknown): boolean {
  if (isConnectionError(error)) return true;
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    RETRYABLE_SQLSTATES.has(error.code)
  );
}
