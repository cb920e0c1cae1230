import { setTimeout as sleep } from 'node:timers/promises';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  createSingleFlightWriter,
  isConnectionError,
  isTransientError,
  WaitedTooLong,
} from './single-flight-writer.ts';

/** A statement under way, ended by the test. */
interface Flight {
  readonly items: readonly number[];
  readonly retry: boolean;
  readonly land: () => void;
  readonly fail: (error: Error) => void;
}

const failure = (code: string): Error => Object.assign(new Error(`SQLSTATE ${code}`), { code });
const CONNECTION = failure('08006');
const DEADLOCK = failure('40P01');
const REFUSED = failure('23514');

/** A writer whose statements the test lands by hand; each answers its items times ten. */
function manualWriter(options: { maxBatch?: number; mayRetry?: (error: unknown) => boolean } = {}) {
  const flights: Flight[] = [];
  const departed: (() => void)[] = [];
  let most = 0;
  let now = 0;
  const write = createSingleFlightWriter<number, number>({
    maxBatch: options.maxBatch ?? 100,
    mayRetry: options.mayRetry ?? (() => false),
    async send(items, retry) {
      most = Math.max(most, ++now);
      try {
        return await new Promise((resolve, reject) => {
          flights.push({
            items,
            retry,
            land: () => resolve(items.map((item) => item * 10)),
            fail: reject,
          });
          departed.shift()?.();
        });
      } finally {
        now--;
      }
    },
  });
  let taken = 0;
  /** The next statement to be sent, as soon as it is. */
  async function next(): Promise<Flight> {
    if (flights.length <= taken) await new Promise<void>((resolve) => departed.push(resolve));
    return flights[taken++] as Flight;
  }
  return { write, next, sent: () => flights.length, mostInFlight: () => most };
}

describe('write', () => {
  it('sends at once when idle', async () => {
    const { write, next } = manualWriter();
    const written = write(1);
    const flight = await next();
    expect(flight.items).toEqual([1]);
    flight.land();
    expect(await written).toBe(10);
  });

  it('takes the callers of one turn of the event loop along', async () => {
    const { write, next } = manualWriter();
    const written = Promise.all([write(1), write(2), write(3)]);
    const flight = await next();
    expect(flight.items).toEqual([1, 2, 3]);
    flight.land();
    expect(await written).toEqual([10, 20, 30]);
  });

  it('collects while a statement is in flight, and sends one at a time', async () => {
    const { write, next, sent, mostInFlight } = manualWriter();
    const first = write(1);
    const one = await next();
    const rest = Promise.all([write(2), write(3)]);
    await Promise.resolve();
    expect(sent()).toBe(1);
    one.land();
    await first;
    const two = await next();
    expect(two.items).toEqual([2, 3]);
    two.land();
    expect(await rest).toEqual([20, 30]);
    expect(mostInFlight()).toBe(1);
  });

  it('is idle again afterwards', async () => {
    const { write, next } = manualWriter();
    for (const item of [1, 2, 3]) {
      const written = write(item);
      (await next()).land();
      expect(await written).toBe(item * 10);
    }
  });

  it('puts no more than maxBatch into a statement', async () => {
    const { write, next } = manualWriter({ maxBatch: 2 });
    const written = Promise.all([1, 2, 3, 4, 5].map(write));
    for (const items of [[1, 2], [3, 4], [5]]) {
      const flight = await next();
      expect(flight.items).toEqual(items);
      flight.land();
    }
    expect(await written).toEqual([10, 20, 30, 40, 50]);
  });

  it('answers every caller with the result of its own item', async () => {
    const batches: number[] = [];
    const write = createSingleFlightWriter<number, number>({
      maxBatch: 7,
      mayRetry: () => false,
      async send(items) {
        batches.push(items.length);
        await Promise.resolve();
        return items.map((item) => item * 10);
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(1_000), fc.nat(3))), async (calls) => {
        const results = await Promise.all(
          calls.map(async ([item, ticks]) => {
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
            return write(item);
          }),
        );
        expect(results).toEqual(calls.map(([item]) => item * 10));
      }),
    );
    expect(Math.max(...batches)).toBe(7);
  });
});

describe('write, when the statement fails', () => {
  /** A database that refuses the items of `faulty`; remembers what it was sent and what it took. */
  function pickyWriter(faulty: ReadonlySet<number>) {
    const sent: (readonly number[])[] = [];
    const taken: number[] = [];
    const write = createSingleFlightWriter<number, number>({
      maxBatch: 1_000,
      mayRetry: () => false,
      async send(items) {
        sent.push(items);
        await Promise.resolve();
        if (items.some((item) => faulty.has(item))) throw REFUSED;
        taken.push(...items);
        return items.map((item) => item * 10);
      },
    });
    return { write, sent, taken };
  }

  it('rejects a lone item with its error', async () => {
    const { write, next } = manualWriter();
    const written = write(1);
    (await next()).fail(REFUSED);
    await expect(written).rejects.toBe(REFUSED);
  });

  it('halves the batch until the item at fault stands alone', async () => {
    const { write, sent } = pickyWriter(new Set([3]));
    const results = await Promise.allSettled([1, 2, 3, 4, 5].map(write));
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(sent).toEqual([[1, 2, 3, 4, 5], [1, 2, 3], [1, 2], [3], [4, 5]]);
  });

  it('writes every good item once and rejects every faulty one, in any mixture', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(fc.nat(1_000), fc.boolean()), { selector: ([item]) => item }),
        async (calls) => {
          const faulty = new Set(calls.filter(([, bad]) => bad).map(([item]) => item));
          const { write, taken } = pickyWriter(faulty);
          const results = await Promise.allSettled(calls.map(([item]) => write(item)));
          expect(results.map(({ status }) => status === 'rejected')).toEqual(
            calls.map(([, bad]) => bad),
          );
          expect(taken).toEqual(calls.map(([item]) => item).filter((item) => !faulty.has(item)));
        },
      ),
    );
  });

  it('repeats the same statement while it may, and says that it is a repetition', async () => {
    const { write, next } = manualWriter({ mayRetry: isTransientError });
    const written = Promise.all([write(1), write(2)]);
    for (const retry of [false, true, true]) {
      const flight = await next();
      expect(flight).toMatchObject({ items: [1, 2], retry });
      if (flight.retry) flight.fail(CONNECTION);
      else flight.fail(DEADLOCK);
    }
    const last = await next();
    expect(last).toMatchObject({ items: [1, 2], retry: true });
    last.land();
    expect(await written).toEqual([10, 20]);
  });

  it('asks whether to repeat with the error and the time since the first failure', async () => {
    const asked: [unknown, number][] = [];
    let tries = 0;
    const write = createSingleFlightWriter<number, number>({
      maxBatch: 1,
      mayRetry(error, failingForMs) {
        asked.push([error, failingForMs]);
        return asked.length < 3;
      },
      send: () => Promise.reject(++tries === 1 ? DEADLOCK : CONNECTION),
    });
    await expect(write(1)).rejects.toBe(CONNECTION);
    expect(asked.map(([error]) => error)).toEqual([DEADLOCK, CONNECTION, CONNECTION]);
    const times = asked.map(([, failingForMs]) => failingForMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.every((failingForMs) => failingForMs >= 0)).toBe(true);
  });

  it('rejects the whole batch on a connection error that may not be repeated', async () => {
    const { write, next, sent } = manualWriter();
    const written = Promise.allSettled([write(1), write(2), write(3)]);
    (await next()).fail(CONNECTION);
    expect(await written).toEqual(Array(3).fill({ status: 'rejected', reason: CONNECTION }));
    expect(sent()).toBe(1);
  });

  it('goes on with what was collected meanwhile', async () => {
    const { write, next } = manualWriter();
    const first = write(1);
    const flight = await next();
    const second = write(2);
    flight.fail(CONNECTION);
    await expect(first).rejects.toBe(CONNECTION);
    (await next()).land();
    expect(await second).toBe(20);
  });

  it('refuses what waited too long behind another statement, and sends what did not', async () => {
    const gate = Promise.withResolvers<undefined>();
    const sent: number[] = [];
    const write = createSingleFlightWriter<number, number>({
      maxBatch: 10,
      maxWaitMs: 50,
      mayRetry: () => false,
      async send(items) {
        sent.push(...items);
        if (items.includes(1)) await gate.promise;
        return items;
      },
    });
    const first = write(1);
    await sleep(1); // it is on its way
    const late = write(2).catch((error: unknown) => error);
    await sleep(80);
    const fresh = write(3);
    gate.resolve(undefined);

    expect(await late).toBeInstanceOf(WaitedTooLong);
    expect(await first).toBe(1);
    expect(await fresh).toBe(3);
    expect(sent).not.toContain(2);
  });

  it('takes an error that send throws before it sends like any other', async () => {
    const write = createSingleFlightWriter<number, number>({
      maxBatch: 1,
      mayRetry: () => false,
      send() {
        throw REFUSED;
      },
    });
    await expect(write(1)).rejects.toBe(REFUSED);
    await expect(write(2)).rejects.toBe(REFUSED);
  });
});

describe('isConnectionError', () => {
  it.each([
    ...[
      '08000',
      '08006',
      '57P01',
      '57P03',
      '53300',
      'ECONNREFUSED',
      'ECONNRESET',
      'EPIPE',
      'ETIMEDOUT',
    ].map(failure),
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated due to connection timeout'),
    new Error('timeout exceeded when trying to connect'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Query read timeout'),
  ])('is one: $message', (error) => {
    expect(isConnectionError(error)).toBe(true);
    expect(isTransientError(error)).toBe(true);
  });

  it.each([
    ...['23505', '40001', '40P01', '57014', '22P05'].map(failure),
    new Error('no'),
    Object.assign(new Error('odd code'), { code: 8 }),
  ])('is none: $message', (error) => {
    expect(isConnectionError(error)).toBe(false);
  });

  it.each(['08006', null, undefined, { code: '08006' }])('is none: %j', (thrown) => {
    expect(isConnectionError(thrown)).toBe(false);
    expect(isTransientError(thrown)).toBe(false);
  });
});

describe('isTransientError', () => {
  it.each(['40001', '40P01', '55P03', '57014'])('is one: %s', (code) => {
    expect(isTransientError(failure(code))).toBe(true);
  });

  it.each(['23505', '23514', '22P05', 'MR404', '42P01'])('is none: %s', (code) => {
    expect(isTransientError(failure(code))).toBe(false);
  });
});
