import type { RunState } from '../../../contract/run-state.ts';

/** The database's time and the unfinished runs of $1, counted up to 1,001. */
export const countWaiting = {
  name: 'millrace_count_waiting',
  text: `
select clock_timestamp() as now,
       (select count(*)::integer
          from (select from millrace.runs r
                 where r.definition = $1 and r.finished_at is null and r.state <> 'running'
                 limit 1001) capped) as waiting`,
} as const;

export interface LastRunRow {
  readonly definition: string;
  readonly id: string;
  readonly state: RunState;
  readonly run_at: Date;
  readonly finished_at: Date | null;
}

/** The newest run of each of the definitions $1: one step into the index per definition. */
export const lastRuns = {
  name: 'millrace_last_runs',
  text: `
select r.definition, r.id, r.state, r.run_at, r.finished_at
  from unnest($1::text[]) as d (definition),
       lateral (select * from millrace.runs r where r.definition = d.definition
                 order by r.id desc limit 1) r`,
} as const;

export const databaseTime = {
  name: 'millrace_database_time',
  text: 'select clock_timestamp() as now',
} as const;
