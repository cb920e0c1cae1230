interface FailureLimits {
  readonly perAddress: number;
  readonly total: number;
  readonly windowMs: number;
}

/**
 * Counts failures in fixed windows. Only failures are counted and refused: whoever has the right
 * secret never meets the limit.
 */
export class FailureLimit {
  private readonly limits: FailureLimits;
  private windowStart = 0;
  private total = 0;
  private readonly byAddress = new Map<string, number>();

  constructor(limits: FailureLimits) {
    this.limits = limits;
  }

  /** Counts one more failure; false when it goes beyond a limit. */
  admit(address: string, nowMs: number): boolean {
    if (nowMs - this.windowStart >= this.limits.windowMs) {
      this.windowStart = nowMs;
      this.total = 0;
      this.byAddress.clear();
    }
    const count = (this.byAddress.get(address) ?? 0) + 1;
    this.total++;
    // Beyond the total nothing new is remembered, so that made-up addresses cost no memory.
    if (this.total > this.limits.total) return false;
    this.byAddress.set(address, count);
    return count <= this.limits.perAddress;
  }
}
