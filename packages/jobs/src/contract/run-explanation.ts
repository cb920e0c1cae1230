/** Why a run is where it is, each with the sentence that heads its explanation. */
export const RUN_REASONS = {
  scheduled: 'It is not due yet.',
  snoozed: 'Its handler put it off.',
  queue_paused: 'Its queue is paused.',
  no_worker_for_queue: 'No live worker runs its queue.',
  definition_unknown: 'No live worker of its queue knows its definition.',
  waits_for_other_run: 'Another run of its definition is running.',
  ticket_missing: 'Its ticket is gone.',
  ticket_held: 'Its ticket is held by a process that does not work on it.',
  strands_busy: 'Every strand of its queue is busy.',
  starting: 'It is about to start.',
  retry_waiting: 'An attempt failed; it waits for the next one.',
  waits_to_be_alone: 'It waits for a process to be empty.',
  running: 'It is running.',
  cancel_requested: 'It is running and has been asked to end.',
  worker_silent: 'The worker that runs it has fallen silent.',
  running_inline: 'A web process runs it while its caller waits.',
  inline_abandoned: 'The web process that ran it did not end it.',
  succeeded: 'It succeeded.',
  attempts_exhausted: 'Every attempt failed.',
  timed_out: 'The last attempt ran into its timeout.',
  fatal: 'The job reported an error that no further attempt can mend.',
  poison: 'Workers were lost while executing it; it is quarantined.',
  cancelled: 'It was cancelled.',
} as const;
export type RunReason = keyof typeof RUN_REASONS;

/** The answer to "why is this run where it is?". */
export interface RunExplanation {
  readonly why: RunReason;
  /** Plain words, with names, times in ISO 8601 and numbers. */
  readonly text: string;
  /** What would change it: by itself, or by whose doing. */
  readonly would: readonly string[];
  /** Since when it has been so, as far as that is known. */
  readonly since: Date | null;
  /** When it changes by itself. */
  readonly until: Date | null;
  /** The run that it waits for. */
  readonly waitsFor: string | null;
}
