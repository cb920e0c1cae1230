import type { ListedRun } from './list-runs.ts';
import { RUN_COLUMNS } from './list-runs.ts';

export interface RunRow extends ListedRun {
  readonly now: Date;
  readonly priority: number;
  readonly execution: number;
  readonly losses: number;
  readonly exclusive: boolean;
  readonly workerId: string | null;
  readonly leaseUntil: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly ticket: string | null;
  readonly context: unknown;
  readonly slot: Date | null;
  readonly result: unknown;
  readonly configVersion: number;
  /** Of a run of a queue. */
  readonly argumentsErased: boolean;
}

/** $1 run. All of it but its arguments. */
export const getRun = {
  name: 'millrace_get_run',
  text: `
select ${RUN_COLUMNS}, clock_timestamp() as now, r.priority, r.execution, r.losses, r.exclusive,
       r.worker_id as "workerId", r.lease_until as "leaseUntil",
       r.cancel_requested_at as "cancelRequestedAt", r.ticket, r.context, r.slot,
       r.result, r.config_version as "configVersion",
       r.args is null and r.queue is not null as "argumentsErased"
  from millrace.runs r where r.id = $1`,
} as const;

export interface ExecutionRow {
  readonly execution: number;
  readonly charged: boolean;
  readonly outcome: string;
  readonly workerId: string;
  readonly waitedMs: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  readonly error: unknown;
}

/** $1 run, $2 how many: the latest ones, the latest first. */
export const listExecutions = {
  name: 'millrace_list_executions',
  text: `
select e.execution, e.charged, e.outcome, e.worker_id as "workerId", e.waited_ms as "waitedMs",
       e.started_at as "startedAt", e.finished_at as "finishedAt", e.error
  from millrace.executions e where e.run_id = $1 order by e.execution desc limit $2`,
} as const;

export interface BesideRun {
  /** Counted up to 1,001. */
  readonly duplicates: number;
  readonly progress: {
    readonly execution: number;
    readonly done: number;
    readonly total: number | null;
    readonly note: string | null;
    readonly at: string;
  } | null;
  readonly worker: { readonly host: string; readonly pid: number } | null;
}

/** What is told of run $1 beside its row; $2 its worker. */
export const besideRun = {
  name: 'millrace_beside_run',
  text: `
select (select count(*)::integer from (select from millrace.duplicates d where d.run_id = $1 limit 1001) d)
         as duplicates,
       (select json_build_object('execution', p.execution, 'done', p.done, 'total', p.total,
                                 'note', p.note, 'at', p.at)
          from millrace.run_progress p where p.run_id = $1) as progress,
       (select json_build_object('host', w.host, 'pid', w.pid)
          from millrace.workers w where w.id = $2::uuid) as worker`,
} as const;

export interface LogLine {
  readonly execution: number;
  readonly seq: number;
  readonly at: Date;
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

const LOG_COLUMNS = 'l.execution, l.seq, l.at, l.level, l.message, l.fields';

/** Of run $1 the $4 lines next after execution $2, line $3. */
export const logAfter = {
  name: 'millrace_log_after',
  text: `
select ${LOG_COLUMNS} from millrace.run_log l
 where l.run_id = $1 and (l.execution, l.seq) > ($2::integer, $3::integer)
 order by l.execution, l.seq limit $4`,
} as const;

/** Of run $1 the $4 lines next before execution $2, line $3, the latest first. */
export const logBefore = {
  name: 'millrace_log_before',
  text: `
select ${LOG_COLUMNS} from millrace.run_log l
 where l.run_id = $1 and (l.execution, l.seq) < ($2::integer, $3::integer)
 order by l.execution desc, l.seq desc limit $4`,
} as const;
