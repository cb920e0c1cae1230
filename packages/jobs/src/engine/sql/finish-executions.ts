/**
 * Ends executions: the run's next state, the history row and, for a run that waits again, its new
 * ticket, in one statement. Fenced by run, ticket, execution and worker: a late write of a worker
 * that lost the run changes nothing and is missing in the count. A run that would wait again but whose
 * cancel was asked for ends as cancelled.
 * Arrays of the same order, sorted by run id: $1 run, $2 ticket, $3 execution, $4 next state,
 * $5 outcome, $6 charged, $7 delay in milliseconds, $8 end code, $9 error, $10 result, $11 waited_ms;
 * $12 worker.
 */
export const finishExecutions = {
  name: 'millrace_finish_executions',
  text: `
with clock as materialized (
  select clock_timestamp() as now
),
ending as materialized (
  select *
    from unnest($1::uuid[], $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::boolean[],
                $7::bigint[], $8::text[], $9::jsonb[], $10::jsonb[], $11::integer[])
      as e (id, ticket, execution, state, outcome, charged, delay_ms, end_code, error, result, waited_ms)
),
ended as (
  update millrace.runs r
     set state = case when e.delay_ms is not null and r.cancel_requested_at is not null
                      then 'cancelled' else e.state end,
         attempt = r.attempt - (not e.charged)::integer,
         worker_id = null,
         end_code = case when e.delay_ms is not null and r.cancel_requested_at is not null
                         then 'cancelled' else e.end_code end,
         result = e.result,
         finished_at = case when e.delay_ms is null or r.cancel_requested_at is not null
                            then greatest(r.started_at, clock.now) end,
         run_at = case when e.delay_ms is null then r.run_at
                       else clock.now + e.delay_ms * interval '1 millisecond' end,
         ticket = case when e.delay_ms is not null and r.cancel_requested_at is null
                       then millrace.create_ticket(
                         r.queue, r.id, clock.now + e.delay_ms * interval '1 millisecond',
                         r.priority) end
    from ending e, clock
   where r.id = e.id and r.ticket = e.ticket and r.execution = e.execution
     and r.state = 'running' and r.worker_id = $12
  returning r.id, r.execution, e.charged, e.outcome, e.waited_ms, e.error, r.started_at
)
insert into millrace.executions
  (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at, error)
select id, execution, charged, outcome, $12, waited_ms, started_at, greatest(started_at, clock.now), error
  from ended, clock`,
} as const;

/**
 * Which of the executions this worker has ended itself, not its reaper ("lost"): $1 run ids, $2 executions,
 * $3 worker.
 */
export const endedExecutions = {
  name: 'millrace_ended_executions',
  text: `
select e.run_id, e.execution
  from unnest($1::uuid[], $2::integer[]) as t (id, execution)
  join millrace.executions e on e.run_id = t.id and e.execution = t.execution
 where e.worker_id = $3 and e.outcome <> 'lost'`,
} as const;
