import type { RetryPolicy } from '../contract/definition.ts';

/**
 * Milliseconds to wait after the given failed attempt (1 for the first):
 * `min(maxDelayMs, firstDelayMs × factor^(attempt − 1))`, lengthened or shortened by up to `jitter`
 * of itself. `random` is a number in [0, 1).
 */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: number): number {
  const exponential = policy.firstDelayMs * policy.factor ** (attempt - 1);
  const delay = Math.min(policy.maxDelayMs, exponential);
  return Math.round(delay * (1 + policy.jitter * (2 * random - 1)));
}
