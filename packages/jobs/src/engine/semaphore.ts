/** A number of permits; whoever finds none waits in line. */
export class Semaphore {
  private free: number;
  private readonly waiting: ((granted: boolean) => void)[] = [];

  constructor(permits: number) {
    this.free = permits;
  }

  /**
   * True with the permit: at once, without a turn of the event loop, when one is free. False, without
   * one, for whoever is dismissed.
   */
  acquire(): Promise<boolean> | true {
    if (this.free > 0) {
      this.free--;
      return true;
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next(true);
    else this.free++;
  }

  /** Sends away all who wait in line. */
  dismiss(): void {
    for (const leave of this.waiting.splice(0)) leave(false);
  }
}
