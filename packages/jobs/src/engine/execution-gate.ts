/**
 * Lets executions of a process run side by side, except for one that must be alone: it waits for the
 * others to end, and they wait for it.
 */
export class ExecutionGate {
  private active = 0;
  private alone = false;
  private readonly waiting: { alone: boolean; enter: () => void }[] = [];

  enter(alone: boolean): Promise<void> | undefined {
    if (this.waiting.length === 0 && this.admits(alone)) {
      this.admit(alone);
      return undefined;
    }
    return new Promise((enter) => this.waiting.push({ alone, enter }));
  }

  leave(): void {
    this.active--;
    this.alone = false;
    for (;;) {
      const next = this.waiting[0];
      if (!next || !this.admits(next.alone)) return;
      this.waiting.shift();
      this.admit(next.alone);
      next.enter();
    }
  }

  private admits(alone: boolean): boolean {
    return alone ? this.active === 0 : !this.alone;
  }

  private admit(alone: boolean): void {
    this.active++;
    this.alone = alone;
  }
}
