-- What the scheduler's POST does for queued definitions, several at a time. requests: as for
-- enqueue_runs, and idempotencyKey, overlap. Triggers of one definition are serialised by an advisory
-- lock, so that concurrent repeats meet one decision:
--   a known key: its run, whatever became of it;
--   no key: the live run that a scheduler's trigger created;
--   else by overlap: coalesce joins the run that waits, skip joins the live one, allow joins none.
-- A joined run answers to the new key as well.
create function millrace.trigger_runs(requests jsonb)
returns table (ordinal integer, run_id uuid, replayed boolean, state text, run_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  request record;
  found_id uuid;
  found_outcome text;
  known boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || d.definition, 0))
     from (select distinct e ->> 'definition' as definition from jsonb_array_elements(requests) e order by 1) d;

  for request in
    select e.value as body, e.ordinality::integer as n, e.value ->> 'definition' as definition,
           e.value ->> 'idempotencyKey' as key, coalesce(e.value ->> 'overlap', 'coalesce') as overlap
      from jsonb_array_elements(requests) with ordinality e order by e.ordinality
  loop
    if request.key is not null then
      select j.run_id, j.outcome into found_id, found_outcome from millrace.scheduler_jobs j
       where j.definition = request.definition and j.idempotency_key = request.key;
    else
      select r.id, null into found_id, found_outcome from millrace.runs r
       where r.definition = request.definition and r.trigger = 'scheduler' and r.finished_at is null
       order by r.id desc limit 1;
    end if;
    known := found_id is not null;

    if not known and request.overlap <> 'allow' then
      select r.id, null into found_id, found_outcome from millrace.runs r
       where r.definition = request.definition and r.trigger in ('schedule', 'scheduler', 'manual')
         and r.finished_at is null and (request.overlap = 'skip' or r.state <> 'running')
       order by r.id desc limit 1
       -- It must not end before the key is written: its outcome is told to the keys that are there.
       for share;
    end if;

    if found_id is null then
      select e.run_id into found_id
        from millrace.enqueue_runs(jsonb_build_array(request.body || jsonb_build_object(
               'trigger', 'scheduler', 'exclusive', request.overlap <> 'allow'))) e;
      insert into millrace.scheduler_jobs (run_id, definition, idempotency_key)
      values (found_id, request.definition, request.key);
      ordinal := request.n;
      run_id := found_id;
      replayed := false;
      state := 'queued';
      run_at := clock_timestamp();
      return next;
    else
      if not known then
        insert into millrace.scheduler_jobs (run_id, definition, idempotency_key)
        values (found_id, request.definition, request.key);
      end if;
      return query
        select request.n, found_id, true, coalesce(r.state, found_outcome), r.run_at
          from (select) one left join millrace.runs r on r.id = found_id;
    end if;
  end loop;
end $$;

-- Opens a call of an inline definition. Answers with a run to execute now (started), the count of an
-- earlier success with the same key (replayed), or the run that is being executed (running). A run
-- whose lease has ended is closed first. The key is bound to the run only when it succeeds.
create function millrace.start_inline(
  p_definition text, p_key text, p_slot timestamptz, p_context jsonb, p_worker uuid, p_lease_ms integer
) returns table (verdict text, run_id uuid, count integer, more boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  live millrace.runs;
  new_id uuid := millrace.uuid_v7();
begin
  perform pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || p_definition, 0));

  if p_key is not null then
    return query
      select 'replayed', j.run_id, j.count, j.more from millrace.scheduler_jobs j
       where j.definition = p_definition and j.idempotency_key = p_key;
    if found then
      return;
    end if;
  end if;

  select * into live from millrace.runs r
   where r.definition = p_definition and r.queue is null and r.finished_at is null;
  if live.id is not null and live.lease_until >= clock_timestamp() then
    return query select 'running', live.id, null::integer, null::boolean;
    return;
  end if;
  if live.id is not null then
    perform millrace.finish_inline(live.id, live.worker_id, 'lost', null, null, null);
  end if;

  insert into millrace.runs (
    id, definition, queue, state, trigger, run_at, execution, attempt, max_attempts, worker_id,
    lease_until, context, slot, started_at)
  values (
    new_id, p_definition, null, 'running', 'scheduler', clock_timestamp(), 1, 1, 1, p_worker,
    clock_timestamp() + p_lease_ms * interval '1 millisecond', p_context, p_slot, clock_timestamp());
  insert into millrace.scheduler_jobs (run_id, definition) values (new_id, p_definition);
  return query select 'started', new_id, null::integer, null::boolean;
end $$;

-- Closes it, if that worker still holds it: false when it was too late.
create function millrace.finish_inline(
  p_run uuid, p_worker uuid, p_outcome text, p_error jsonb, p_result jsonb, p_key text
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  ended millrace.runs;
begin
  -- Not between the two looks of a start that is under way: it would find neither the live run nor
  -- the key.
  perform pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || r.definition, 0))
     from millrace.runs r where r.id = p_run;
  update millrace.runs r
     set state = case when p_outcome = 'succeeded' then 'succeeded' else 'failed' end,
         end_code = case p_outcome when 'succeeded' then null when 'timed_out' then 'timed_out'
                                   else 'attempts_exhausted' end,
         worker_id = null, lease_until = null, result = p_result, finished_at = clock_timestamp()
   where r.id = p_run and r.worker_id = p_worker and r.state = 'running' and r.queue is null
  returning r.* into ended;
  if not found then
    return false;
  end if;
  insert into millrace.executions
    (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at, error)
  values (p_run, ended.execution, true, p_outcome, p_worker, 0, ended.started_at, ended.finished_at, p_error);
  if p_outcome = 'succeeded' and p_key is not null then
    update millrace.scheduler_jobs set idempotency_key = p_key where scheduler_jobs.run_id = p_run;
  end if;
  return true;
end $$;
