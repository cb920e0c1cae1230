import type { EndCode, RunState } from '../../contract/run-state.ts';

/** What a scheduler may know about a run that one of its POSTs returned: $1 run. */
export const schedulerJob = {
  name: 'millrace_scheduler_job',
  text: `
select j.run_id, j.definition, coalesce(r.state, j.outcome) as state, r.run_at,
       coalesce(r.attempt, 0) as attempt, r.max_attempts, j.enqueued_at, r.started_at,
       coalesce(r.finished_at, j.finished_at) as finished_at, r.result, r.end_code, clock_timestamp() as now
  from millrace.scheduler_jobs j left join millrace.runs r on r.id = j.run_id
 where j.run_id = $1
 order by j.id limit 1`,
} as const;

export interface SchedulerJobRow {
  readonly run_id: string;
  readonly definition: string;
  readonly state: RunState;
  readonly run_at: Date | null;
  readonly attempt: number;
  readonly max_attempts: number | null;
  readonly enqueued_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly end_code: EndCode | null;
  readonly now: Date;
}
