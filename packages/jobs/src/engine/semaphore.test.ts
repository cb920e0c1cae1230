import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Semaphore } from './semaphore.ts';

describe('acquire', () => {
  it('gives a free permit at once, without a turn of the event loop', () => {
    const semaphore = new Semaphore(2);
    expect(semaphore.acquire()).toBe(true);
    expect(semaphore.acquire()).toBe(true);
    expect(semaphore.acquire()).toBeInstanceOf(Promise);
  });

  it('gives released permits in the order of asking', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (who) => {
      await semaphore.acquire();
      order.push(who);
      semaphore.release();
    });
    semaphore.release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
  });

  it('lets nobody overtake the one who waits', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const first = semaphore.acquire();
    semaphore.release();
    expect(semaphore.acquire()).toBeInstanceOf(Promise);
    await first;
  });

  it('never has more holders than permits, and serves everybody', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 40 }),
        async (permits, turns) => {
          const semaphore = new Semaphore(permits);
          let holders = 0;
          let most = 0;
          await Promise.all(
            turns.map(async (ticks) => {
              await semaphore.acquire();
              most = Math.max(most, ++holders);
              for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
              holders--;
              semaphore.release();
            }),
          );
          expect(most).toBe(Math.min(permits, turns.length));
          expect(holders).toBe(0);
        },
      ),
    );
  });
});

describe('dismiss', () => {
  it('sends away all who wait, who then hold nothing', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const [first, second] = [semaphore.acquire(), semaphore.acquire()];
    semaphore.dismiss();
    expect([await first, await second]).toEqual([false, false]);
    semaphore.release();
    expect(semaphore.acquire()).toBe(true);
    expect(semaphore.acquire()).toBeInstanceOf(Promise);
  });
});

describe('withdraw', () => {
  it('keeps permits out of use until they are restored', async () => {
    const semaphore = new Semaphore(2);
    await semaphore.acquire();
    await semaphore.acquire();
    semaphore.withdraw(1);
    expect(semaphore.overdrawn).toBe(true);
    semaphore.release();
    const waiting = semaphore.acquire();
    semaphore.restore(1);
    expect(await waiting).toBe(true);
    expect(semaphore.overdrawn).toBe(false);
  });

  it('says when nobody can be waited for', () => {
    const semaphore = new Semaphore(1);
    expect(semaphore.exhausted).toBe(false);
    semaphore.withdraw(1);
    expect(semaphore.exhausted).toBe(true);
    semaphore.restore(1);
    expect(semaphore.exhausted).toBe(false);
  });
});
