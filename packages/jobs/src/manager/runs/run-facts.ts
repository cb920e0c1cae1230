import type { EndCode, ExecutionOutcome, RunState } from '../../contract/run-state.ts';

/** Everything of which an explanation is made. */
export interface RunFacts {
  readonly now: Date;
  readonly run: {
    readonly definition: string;
    /** Null: inline. */
    readonly queue: string | null;
    readonly state: RunState;
    readonly enqueuedAt: Date;
    readonly runAt: Date;
    readonly startedAt: Date | null;
    readonly finishedAt: Date | null;
    readonly attempt: number;
    readonly maxAttempts: number;
    readonly losses: number;
    readonly exclusive: boolean;
    readonly leaseUntil: Date | null;
    readonly cancelRequestedAt: Date | null;
    readonly endCode: EndCode | null;
    readonly argumentsErased: boolean;
  };
  readonly last: LastExecution;
  /** Of a run that waits. */
  readonly waiting: WaitingFacts | null;
  /** Of a run that is running. */
  readonly running: RunningFacts | null;
}

interface LastExecution {
  /** How the latest ended execution ended; null: there is none. */
  readonly outcome: ExecutionOutcome | null;
  /** The name of its error. */
  readonly error: string | null;
  /** Who asked for the end of the run last. */
  readonly cancelledBy: string | null;
  readonly cancelReason: string | null;
}

export interface WaitingFacts {
  readonly pause: {
    readonly by: string;
    readonly reason: string;
    readonly at: Date;
    readonly until: Date | null;
  } | null;
  /** Live workers that take runs of the queue; of those, who know the definition; their strands. */
  readonly workers: number;
  readonly knowing: number;
  readonly strands: number;
  readonly running: number;
  /** Due runs that go before it; `more`: at least so many. */
  readonly ahead: number;
  readonly aheadMore: boolean;
  /** The exclusive run of its definition that is running. */
  readonly other: { readonly id: string; readonly startedAt: Date } | null;
  /** Null: it is gone. */
  readonly ticket: { readonly runAt: Date; readonly lockedAt: Date | null } | null;
}

export interface RunningFacts {
  /** Null: it is not registered any more. */
  readonly worker: {
    readonly host: string;
    readonly pid: number;
    readonly seenAt: Date;
    readonly stoppingAt: Date | null;
  } | null;
  /** Of the configuration under which it began; null: this process does not know the definition. */
  readonly timeoutMs: number | null;
}
