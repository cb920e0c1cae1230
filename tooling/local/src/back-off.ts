const FIRST_MS = 1000;
const LONGEST_MS = 30_000;
/** A program that lived this long has recovered. */
const STEADY_MS = 60_000;

/** How long to wait before a program is started again. */
export class BackOff {
  #next = FIRST_MS;

  /** @param livedMs how long the program lived that just ended */
  delayMs(livedMs: number): number {
    if (livedMs >= STEADY_MS) this.#next = FIRST_MS;
    const delay = this.#next;
    this.#next = Math.min(delay * 2, LONGEST_MS);
    return delay;
  }
}
