/** For tests: $1 failed runs of $2 in queue $3 that never executed. */
export const plantFailedRuns = `
insert into millrace.runs
  (id, definition, queue, state, trigger, run_at, max_attempts, end_code, args, finished_at)
select millrace.uuid_v7(), $2, $3, 'failed', 'app', now(), 3, 'fatal', '{}', clock_timestamp()
  from generate_series(1, $1::integer)
returning id`;
