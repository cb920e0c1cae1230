/**
 * A run that is running or due within $3 milliseconds, if there is one: $1 definitions, $2 queues.
 */
export const dueRun = `
select definition, state from millrace.runs
 where definition = any ($1::text[]) and queue = any ($2::text[])
   and (state = 'running'
        or state in ('queued', 'retrying')
           and run_at <= clock_timestamp() + $3::integer * interval '1 millisecond')
 order by id limit 1`;

export interface DueRun {
  readonly definition: string;
  readonly state: string;
}
