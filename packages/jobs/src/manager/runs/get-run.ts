import { z } from 'zod';

import { readRunContext } from '../../contract/run-context.ts';
import { defineRead } from '../verb.ts';
import { findRun } from './find-run.ts';
import { runTimeline, type TimelineStep } from './run-timeline.ts';
import { type RunView, toRunView } from './run-view.ts';
import {
  type BesideRun,
  besideRun,
  type ExecutionRow,
  listExecutions,
  type RunRow,
} from './sql/get-run.ts';

/** A run may snooze for ever; its latest executions are what is looked for. */
const EXECUTIONS = 200;
const DUPLICATES = 1_000;

/** One ended execution, its wait and its work apart. */
export interface ExecutionView extends ExecutionRow {
  readonly tookMs: number;
}

/** A run as its page shows it: everything but its arguments. */
export interface RunDetail extends RunView {
  readonly priority: number;
  readonly execution: number;
  /** How many workers were lost over it. */
  readonly losses: number;
  readonly exclusive: boolean;
  readonly slot: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly argumentsErased: boolean;
  /** Of the override under which its latest execution began; 0: as the code says. */
  readonly configVersion: number;
  readonly result: unknown;
  readonly requestId: string | null;
  /** On whose behalf it was enqueued. */
  readonly actor: {
    readonly kind: string;
    readonly id: string;
    readonly label: string;
    readonly orgId: string | null;
  } | null;
  readonly traceId: string | null;
  /** The latest ones, oldest first. */
  readonly executions: readonly ExecutionView[];
  readonly moreExecutions: boolean;
  /** Enqueues that found it by its dedupe key, up to 1,000. */
  readonly duplicates: { readonly count: number; readonly more: boolean };
  readonly progress: BesideRun['progress'];
  /** The process that executes it now; host and process id while it is registered. */
  readonly worker: {
    readonly id: string;
    readonly host: string | null;
    readonly pid: number | null;
  } | null;
  readonly timeline: readonly TimelineStep[];
}

/** One run. Throws `job_not_found`. */
export const getRun = defineRead({
  name: 'runs.get',
  permission: 'ops.jobs.read',
  input: z.strictObject({ id: z.uuid() }),
  subject: ({ id }) => ({ kind: 'run', id }),
  async read({ tx }, { id }): Promise<RunDetail> {
    const run = await findRun(tx, id);
    const { rows } = await tx.query<ExecutionRow>({
      ...listExecutions,
      values: [id, EXECUTIONS + 1],
    });
    const { rows: beside } = await tx.query<BesideRun>({
      ...besideRun,
      values: [id, run.workerId],
    });
    return toDetail(run, rows, beside[0] ?? { duplicates: 0, progress: null, worker: null });
  },
});

function toDetail(
  run: RunRow,
  rows: readonly ExecutionRow[],
  { duplicates, progress, worker }: BesideRun,
): RunDetail {
  const view = toRunView(run, run.now);
  const executions = rows.slice(0, EXECUTIONS).toReversed();
  const { actor, requestId, traceparent } = readRunContext(run.context);
  return {
    ...view,
    priority: run.priority,
    execution: run.execution,
    losses: run.losses,
    exclusive: run.exclusive,
    slot: run.slot,
    cancelRequestedAt: run.cancelRequestedAt,
    argumentsErased: run.argumentsErased,
    configVersion: run.configVersion,
    result: run.result,
    requestId: requestId ?? null,
    actor: actor ?? null,
    traceId: traceparent?.split('-')[1] ?? null,
    executions: executions.map((each) => ({
      ...each,
      tookMs: each.finishedAt.getTime() - each.startedAt.getTime(),
    })),
    moreExecutions: rows.length > EXECUTIONS,
    duplicates: { count: Math.min(duplicates, DUPLICATES), more: duplicates > DUPLICATES },
    progress,
    worker:
      run.workerId === null
        ? null
        : {
            id: run.workerId,
            host: worker?.host ?? null,
            pid: worker?.pid ?? null,
          },
    timeline: runTimeline({ ...view, execution: run.execution }, executions),
  };
}
