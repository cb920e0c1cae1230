import type { EndCode, ShownStatus } from './run-state.ts';

/** A queued job as the scheduler's POST answers it. */
export interface AcceptedJob {
  readonly jobId: string;
  readonly type: string;
  readonly status: ShownStatus;
  readonly done: boolean;
}

/** A job as the scheduler's GET answers it: ids, states, times and counts, no content. */
export interface SchedulerJob extends AcceptedJob {
  readonly attempt: number;
  readonly maxAttempts: number | null;
  readonly enqueuedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly result?: Readonly<Record<string, number>>;
  readonly error?: { readonly code: EndCode; readonly message: string };
}

/** What a call of an inline job answers. */
export interface InlineAnswer {
  readonly count: number;
  readonly more?: true;
}
