/** The run fails now, whatever attempts remain. */
export class FatalOutcome extends Error {
  override readonly name = 'FatalOutcome';
}

/** The run goes back to waiting; the execution is not charged as an attempt. */
export class SnoozeOutcome extends Error {
  override readonly name = 'SnoozeOutcome';
  readonly delayMs: number;

  constructor(delayMs: number) {
    super(`snoozed for ${delayMs} ms`);
    this.delayMs = delayMs;
  }
}

/** The run ends as cancelled. */
export class CancelOutcome extends Error {
  override readonly name = 'CancelOutcome';
}

export type Outcome = FatalOutcome | SnoozeOutcome | CancelOutcome;

/** Return or throw it from a handler: the run fails at once and is not tried again. */
export function fatal(message: string, options?: ErrorOptions): FatalOutcome {
  return new FatalOutcome(message, options);
}

const TEN_YEARS_MS = 315_360_000_000;

/**
 * Return or throw it from a handler: try again in `delayMs` milliseconds (at most ten years), without
 * spending an attempt.
 */
export function snooze(delayMs: number): SnoozeOutcome {
  if (!(delayMs >= 0 && delayMs <= TEN_YEARS_MS)) {
    throw new TypeError(`snooze needs milliseconds from 0 to ten years, not ${delayMs}`);
  }
  return new SnoozeOutcome(Math.round(delayMs));
}

/** Return or throw it from a handler: there is nothing left to do; the run ends as cancelled. */
export function cancel(reason: string): CancelOutcome {
  return new CancelOutcome(reason);
}
