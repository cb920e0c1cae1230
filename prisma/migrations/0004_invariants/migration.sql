-- Empty while the records hold together. Looked at after every database test, by the chaos checker
-- and by doctor.
create view millrace.invariant_violations as
  select 'history_is_complete' as invariant, r.id as run_id,
         format('state %s, execution %s, but %s ended executions up to %s',
                r.state, r.execution, count(e.*), max(e.execution)) as detail
    from millrace.runs r left join millrace.executions e on e.run_id = r.id
   group by r.id
  having count(e.*) <> r.execution - (r.state = 'running')::integer
      or coalesce(max(e.execution), 0) <> r.execution - (r.state = 'running')::integer
  union all
  select 'attempts_are_charged_executions', r.id,
         format('attempt %s, but %s charged executions', r.attempt, count(e.*))
    from millrace.runs r left join millrace.executions e on e.run_id = r.id and e.charged
   group by r.id
  having count(e.*) <> r.attempt - (r.state = 'running')::integer
  union all
  select 'finished_is_final', r.id, format('state %s with ticket %s, worker %s', r.state, r.ticket, r.worker_id)
    from millrace.runs r
   where (r.state in ('succeeded', 'failed', 'cancelled'))
     and (r.finished_at is null or r.ticket is not null or r.worker_id is not null
          or exists (select from millrace.executions e
                      where e.run_id = r.id and e.finished_at > r.finished_at + interval '1 second'))
  union all
  select 'one_run_per_slot', (array_agg(r.id))[1], format('%s runs of %s for slot %s', count(*), r.definition, r.slot)
    from millrace.runs r where r.trigger = 'schedule' and r.slot is not null
   group by r.definition, r.slot having count(*) > 1
  union all
  select 'one_live_run_per_dedupe_key', (array_agg(r.id))[1], format('%s live runs of %s', count(*), r.definition)
    from millrace.runs r where r.dedupe_key is not null and r.finished_at is null
   group by r.definition, r.dedupe_key having count(*) > 1
  union all
  select 'one_job_per_idempotency_key', (array_agg(j.run_id))[1], format('%s jobs of %s', count(*), j.definition)
    from millrace.scheduler_jobs j where j.idempotency_key is not null
   group by j.definition, j.idempotency_key having count(*) > 1
  union all
  select 'live_run_has_its_ticket', r.id, format('state %s in queue %s waits for ticket %s', r.state, r.queue, r.ticket)
    from millrace.runs r left join millrace.tickets() t on t.queue = r.queue and t.ticket = r.ticket
   where r.queue is not null and r.state in ('queued', 'retrying') and t.ticket is null
  union all
  select 'running_run_has_a_live_worker', r.id, format('worker %s is not there', r.worker_id)
    from millrace.runs r
   where r.state = 'running'
     and case when r.queue is null then r.lease_until < now()
              else not exists (select from millrace.workers w where w.id = r.worker_id) end
  union all
  select 'one_exclusive_run_at_a_time', (array_agg(r.id))[1], format('%s runs of %s', count(*), r.definition)
    from millrace.runs r where r.exclusive and r.state = 'running'
   group by r.definition having count(*) > 1
  union all
  select 'execution_belongs_to_a_run', e.run_id, format('execution %s of no run', e.execution)
    from millrace.executions e where not exists (select from millrace.runs r where r.id = e.run_id)
  union all
  select 'scheduler_job_knows_the_outcome', r.id, format('run is %s, answer says %s', r.state, j.outcome)
    from millrace.scheduler_jobs j join millrace.runs r on r.id = j.run_id
   where (r.finished_at is not null and j.outcome is distinct from r.state)
      or (r.finished_at is null and j.outcome is not null);
