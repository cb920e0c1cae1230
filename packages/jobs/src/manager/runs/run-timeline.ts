import type { ShownStatus } from '../../contract/run-state.ts';

/** A stretch of a run's life. The first begins when it was enqueued; where `until` is null, it lasts. */
export interface TimelineStep {
  /**
   * `delayed`: not due (a later time, a retry's delay, a snooze); `waited`: due, for a worker; `executed`;
   * `ended`: an instant.
   */
  readonly kind: 'delayed' | 'waited' | 'executed' | 'ended';
  readonly from: Date;
  readonly until: Date | null;
  /** Null while it lasts. */
  readonly ms: number | null;
  /** Of `executed`: which one. */
  readonly execution: number | null;
  /** Of `executed` and `ended`: how; null while it lasts. */
  readonly outcome: string | null;
}

interface PastExecution {
  readonly execution: number;
  readonly outcome: string;
  readonly waitedMs: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

interface Run {
  readonly status: ShownStatus;
  readonly execution: number;
  readonly enqueuedAt: Date;
  readonly runAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/**
 * The life of a run in order, without gaps, from its executions (oldest first; those that are left out make
 * one long delay). Instants of different clocks may disagree by a little: no stretch is negative.
 */
export function runTimeline(run: Run, executions: readonly PastExecution[]): TimelineStep[] {
  const steps: TimelineStep[] = [];
  let at = run.enqueuedAt;
  const add = (
    kind: TimelineStep['kind'],
    until: Date | null,
    of: { execution?: number; outcome?: string } = {},
  ): void => {
    const end = until === null ? null : until < at ? at : until;
    const ms = end === null ? null : end.getTime() - at.getTime();
    // A delay of nothing is none; a wait of nothing is told.
    if (kind !== 'delayed' || ms !== 0) {
      const { execution = null, outcome = null } = of;
      steps.push({ kind, from: at, until: end, ms, execution, outcome });
    }
    at = end ?? at;
  };

  for (const { execution, outcome, waitedMs, startedAt, finishedAt } of executions) {
    add('delayed', new Date(startedAt.getTime() - waitedMs));
    add('waited', startedAt);
    add('executed', finishedAt, { execution, outcome });
  }
  switch (run.status) {
    case 'scheduled':
      add('delayed', null);
      break;
    case 'retrying':
    case 'queued':
      add('delayed', run.runAt);
      add('waited', null);
      break;
    case 'running':
      add('delayed', run.runAt);
      add('waited', run.startedAt ?? run.runAt);
      add('executed', null, { execution: run.execution });
      break;
    case 'succeeded':
    case 'failed':
    case 'cancelled': {
      const end = run.finishedAt ?? at;
      // Cancelled while it waited.
      if (end > at && run.runAt < end) {
        add('delayed', run.runAt);
        if (run.status === 'cancelled') add('waited', end);
      } else add('delayed', end);
      steps.push({
        kind: 'ended',
        from: end,
        until: end,
        ms: 0,
        execution: null,
        outcome: run.status,
      });
    }
  }
  return steps;
}
