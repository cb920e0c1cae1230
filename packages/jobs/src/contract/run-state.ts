/** States of a run. `scheduled` is not among them: see {@link shownStatus}. */
export const RUN_STATES = [
  'queued',
  'running',
  'retrying',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/**
 * Which state may follow which. The database refuses every other change (trigger
 * `runs_allowed_transitions`). `running → queued` is a hand-back or a snooze of a run without a
 * charged attempt; `failed|cancelled → queued` is an operator's retry.
 */
export const TRANSITIONS = {
  queued: ['running', 'cancelled'],
  running: ['queued', 'retrying', 'succeeded', 'failed', 'cancelled'],
  retrying: ['running', 'cancelled'],
  succeeded: [],
  failed: ['queued'],
  cancelled: ['queued'],
} as const satisfies Record<RunState, readonly RunState[]>;

export const TERMINAL_STATES = ['succeeded', 'failed', 'cancelled'] as const satisfies RunState[];
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** Whether a run in this state is over, unless an operator retries it. */
export function isTerminal(state: RunState): state is TerminalState {
  return (TERMINAL_STATES as readonly RunState[]).includes(state);
}

/** What created a run. */
export const TRIGGERS = ['schedule', 'scheduler', 'manual', 'event', 'app'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** How one execution ended. All but `snoozed` and `handed_back` are charged as an attempt. */
export const EXECUTION_OUTCOMES = [
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'snoozed',
  'handed_back',
  'lost',
] as const;
export type ExecutionOutcome = (typeof EXECUTION_OUTCOMES)[number];

/** Why a run failed or was cancelled, with the fixed text that outsiders may read. */
export const END_CODES = {
  attempts_exhausted: 'Every attempt failed.',
  timed_out: 'The last attempt ran into its timeout.',
  fatal: 'The job reported an error that no further attempt can mend.',
  poison: 'Workers were lost while executing it; it is quarantined.',
  cancelled: 'It was cancelled.',
} as const;
export type EndCode = keyof typeof END_CODES;

export type ShownStatus = RunState | 'scheduled';

/** The status people see: a queued run whose time is still to come is `scheduled`. */
export function shownStatus(state: RunState, runAt: Date, now: Date): ShownStatus {
  return state === 'queued' && runAt > now ? 'scheduled' : state;
}
