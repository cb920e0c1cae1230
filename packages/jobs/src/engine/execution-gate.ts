/**
 * Counts the runs that this process holds, from before their claim until their ending is written, and
 * lets one of them be the only one: while it waits and executes, no other is claimed, and those that
 * have not started are to be handed back (`clearing`).
 */
export class ExecutionGate {
  private held = 0;
  private alone: (() => void) | undefined;
  private readonly waiting: (() => void)[] = [];

  /** Lets a claim in; at once, without a turn of the event loop, while nobody wants to be alone. */
  enter(): Promise<void> | undefined {
    if (!this.alone) {
      this.held++;
      return undefined;
    }
    return new Promise((enter) => this.waiting.push(enter));
  }

  /** Whether one waits to be, or is, alone: what has not started gives way. */
  get clearing(): boolean {
    return this.alone !== undefined;
  }

  /**
   * For one that is in: `alone` when it is the only one; `taken` if another wants to be alone; `busy` if
   * the others have not ended in time, since a long run must not keep the process from its work.
   */
  async becomeAlone(withinMs: number): Promise<'alone' | 'taken' | 'busy'> {
    if (this.alone) return 'taken';
    const { promise, resolve } = Promise.withResolvers<'alone' | 'busy'>();
    this.alone = () => resolve('alone');
    if (this.held === 1) resolve('alone');
    const timeout = setTimeout(() => resolve('busy'), withinMs);
    const verdict = await promise;
    clearTimeout(timeout);
    if (verdict === 'busy') this.endAlone();
    return verdict;
  }

  /** The one that was alone has ended. */
  endAlone(): void {
    this.alone = undefined;
    for (const enter of this.waiting.splice(0)) {
      this.held++;
      enter();
    }
  }

  leave(): void {
    this.held--;
    if (this.held === 1) this.alone?.();
  }
}
