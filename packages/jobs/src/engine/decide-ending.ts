import type { RetryPolicy } from '../contract/definition.ts';
import type { EndCode, ExecutionOutcome, RunState } from '../contract/run-state.ts';
import { RunAborted } from '../authoring/handler.ts';
import { CancelOutcome, FatalOutcome, SnoozeOutcome } from '../authoring/outcome.ts';
import { retryDelayMs } from './retry-policy.ts';

/** How the handler ended: it returned a value, or threw (its own error or the abort's reason). */
export type Settled =
  | { readonly how: 'returned'; readonly value: unknown }
  | { readonly how: 'threw'; readonly error: unknown };

/** What becomes of the run after an execution. `delayMs` is set where it waits again. */
export interface Ending {
  readonly state: Exclude<RunState, 'running'>;
  readonly outcome: ExecutionOutcome;
  readonly charged: boolean;
  readonly delayMs: number | null;
  readonly endCode: EndCode | null;
}

interface Attempt {
  /** This execution counted: 1 for the first. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** Decides the ending of an execution. `random` in [0, 1) feeds the retry's jitter. */
export function decideEnding(
  settled: Settled,
  attempt: Attempt,
  retry: RetryPolicy,
  random: number,
): Ending {
  const cause = settled.how === 'returned' ? settled.value : settled.error;
  if (cause instanceof SnoozeOutcome) return uncharged('snoozed', attempt, cause.delayMs);
  if (cause instanceof CancelOutcome) return ended('cancelled', 'cancelled', 'cancelled');
  if (cause instanceof FatalOutcome) return ended('failed', 'failed', 'fatal');
  if (settled.how === 'returned') return ended('succeeded', 'succeeded', null);

  const aborted = cause instanceof RunAborted ? cause.reason : null;
  switch (aborted) {
    case 'shutdown':
    case 'lease-lost':
      return uncharged('handed_back', attempt, 0);
    case 'cancelled':
      return ended('cancelled', 'cancelled', 'cancelled');
    case 'timeout':
      return failedAttempt('timed_out', 'timed_out', attempt, retry, random);
    case null:
      return failedAttempt('failed', 'attempts_exhausted', attempt, retry, random);
  }
}

function ended(
  state: 'succeeded' | 'failed' | 'cancelled',
  outcome: ExecutionOutcome,
  endCode: EndCode | null,
): Ending {
  return { state, outcome, charged: true, delayMs: null, endCode };
}

function uncharged(
  outcome: 'snoozed' | 'handed_back',
  { attempt }: Attempt,
  delayMs: number,
): Ending {
  const state = attempt > 1 ? 'retrying' : 'queued';
  return { state, outcome, charged: false, delayMs, endCode: null };
}

function failedAttempt(
  outcome: 'failed' | 'timed_out',
  endCode: EndCode,
  { attempt, maxAttempts }: Attempt,
  retry: RetryPolicy,
  random: number,
): Ending {
  if (attempt >= maxAttempts) return ended('failed', outcome, endCode);
  const delayMs = retryDelayMs(retry, attempt, random);
  return { state: 'retrying', outcome, charged: true, delayMs, endCode: null };
}
