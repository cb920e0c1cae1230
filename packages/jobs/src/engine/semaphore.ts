/** A number of permits; whoever finds none waits in line. */
export class Semaphore {
  private free: number;
  private inUse: number;
  private readonly waiting: ((granted: boolean) => void)[] = [];

  constructor(permits: number) {
    this.free = permits;
    this.inUse = permits;
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
    this.free++;
    if (this.free <= 0) return;
    const next = this.waiting.shift();
    if (!next) return;
    this.free--;
    next(true);
  }

  /** Takes permits out of use, those that are held included, until they are restored. */
  withdraw(permits: number): void {
    this.free -= permits;
    this.inUse -= permits;
  }

  restore(permits: number): void {
    this.inUse += permits;
    for (let permit = 0; permit < permits; permit++) this.release();
  }

  /** Whether no permit is in use: whoever waits has nobody to wait for. */
  get exhausted(): boolean {
    return this.inUse <= 0;
  }

  /** Whether more permits are held than are in use. */
  get overdrawn(): boolean {
    return this.free < 0;
  }

  /** Sends away all who wait in line. */
  dismiss(): void {
    for (const leave of this.waiting.splice(0)) leave(false);
  }
}
