/** How a queue is doing, in one word. */
export type QueueHealth =
  'idle' | 'active' | 'at capacity' | 'backlogged' | 'paused' | 'no workers';

interface QueueFacts {
  readonly paused: boolean;
  /** Live workers that run it. */
  readonly workers: number;
  readonly due: number;
  readonly running: number;
  /** How many runs its workers execute at a time. */
  readonly limit: number;
  /** How long the oldest due run has been waiting. */
  readonly oldestWaitMs: number | null;
}

/** Runs that wait for longer than this behind busy workers are a backlog. */
const BACKLOG_MS = 30_000;

/**
 * Paused is what a person wanted, and goes first; then whether anybody works on it; then whether work
 * waits although every strand is busy, and for how long.
 */
export function queueHealth(facts: QueueFacts): QueueHealth {
  const { paused, workers, due, running, limit, oldestWaitMs } = facts;
  if (paused) return 'paused';
  if (workers === 0) return 'no workers';
  if (due > 0 && (oldestWaitMs ?? 0) > BACKLOG_MS) return 'backlogged';
  if (running >= limit) return 'at capacity';
  return running > 0 || due > 0 ? 'active' : 'idle';
}
