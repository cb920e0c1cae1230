import {
  END_CODES,
  type EndCode,
  isTerminal,
  RUN_STATES,
  type RunState,
  type ShownStatus,
  shownStatus,
  type Trigger,
  TRIGGERS,
} from '../../contract/run-state.ts';

/** A run as a list shows it: ids, states, times and codes, nothing of what it works on. */
export interface RunView {
  readonly id: string;
  readonly definition: string;
  /** Null for inline runs: they wait in no queue. */
  readonly queue: string | null;
  readonly status: ShownStatus;
  readonly trigger: Trigger;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly enqueuedAt: Date;
  /** When it becomes due, or became due for its latest execution. */
  readonly runAt: Date;
  /** Start of the latest execution. */
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** How long it was due before its latest execution began, or has been until now. */
  readonly waitedMs: number | null;
  /** How long its latest execution took, or has been going on; null while it waits. */
  readonly tookMs: number | null;
  /** Why it failed or was cancelled. */
  readonly endCode: EndCode | null;
  readonly tags: readonly string[];
}

interface RunRow {
  readonly id: string;
  readonly definition: string;
  readonly queue: string | null;
  readonly state: string;
  readonly trigger: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  readonly enqueuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly endCode: string | null;
  readonly tags: readonly string[];
}

/** What a list shows of a row at this instant. */
export function toRunView(row: RunRow, now: Date): RunView {
  const state = runState(row.state);
  return {
    id: row.id,
    definition: row.definition,
    queue: row.queue,
    status: shownStatus(state, row.runAt, now),
    trigger: known(TRIGGERS, row.trigger),
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    enqueuedAt: row.enqueuedAt,
    runAt: row.runAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    ...timings(state, row, now),
    endCode: runEndCode(row.endCode),
    tags: row.tags,
  };
}

/**
 * Waiting and working apart. A run that ended while it waited for another attempt has a start that
 * is older than the instant it waited for: that execution is not the one it ended with.
 */
function timings(
  state: RunState,
  { runAt, startedAt, finishedAt }: RunRow,
  now: Date,
): Pick<RunView, 'waitedMs' | 'tookMs'> {
  const executed =
    startedAt && (state === 'running' || (isTerminal(state) && startedAt >= runAt))
      ? startedAt
      : null;
  const waitedUntil = executed ?? finishedAt ?? now;
  return {
    // Not due yet, or ended before it was: it never waited.
    waitedMs: waitedUntil >= runAt || executed ? between(runAt, waitedUntil) : null,
    tookMs: executed && between(executed, finishedAt ?? now),
  };
}

/** Never negative, although the database's clock and this process's may differ a little. */
function between(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime());
}

export function runState(text: string): RunState {
  return known(RUN_STATES, text);
}

export function runEndCode(text: string | null): EndCode | null {
  return text === null ? null : known(Object.keys(END_CODES) as EndCode[], text);
}

/** The database's check constraints allow these values only. */
function known<Value extends string>(values: readonly Value[], text: string): Value {
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw new TypeError(`"${text}" is none of ${values.join(', ')}`);
  return value;
}
