-- Claims one exclusive run (runs.exclusive), if no other exclusive run of its definition is running.
-- The claims of one definition are serialised by an advisory lock; other runs never come here.
create function millrace.claim_exclusive(
  p_run uuid, p_ticket bigint, p_worker uuid, p_definitions text[]
) returns setof millrace.runs
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  found_definition text;
begin
  select definition into found_definition from millrace.runs
   where id = p_run and ticket = p_ticket and exclusive and state in ('queued', 'retrying')
     and definition = any (p_definitions);
  if not found then
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('millrace.claim ' || found_definition, 0));
  perform from millrace.workers where id = p_worker for key share;
  if not found then
    return;
  end if;
  perform from millrace.runs
    where definition = found_definition and exclusive and finished_at is null and state = 'running';
  if found then
    return;
  end if;
  return query
    update millrace.runs r
       set state = 'running', execution = r.execution + 1, attempt = r.attempt + 1,
           worker_id = p_worker, started_at = clock_timestamp()
     where r.id = p_run and r.ticket = p_ticket and r.state in ('queued', 'retrying')
    returning r.*;
end $$;

-- When an exclusive run stops running, the one of its definition that waits gets a ticket for now.
create function millrace.wake_next_exclusive() returns trigger
language plpgsql as $$
begin
  update millrace.runs r
     set ticket = millrace.create_ticket(r.queue, r.id, greatest(r.run_at, clock_timestamp()), r.priority)
   where r.id = (
     select w.id from millrace.runs w
      where w.definition = new.definition and w.exclusive and w.finished_at is null
        and w.state in ('queued', 'retrying') and w.id <> new.id
      order by w.id limit 1 for update skip locked);
  return null;
end $$;

create trigger runs_wake_next_exclusive after update of state on millrace.runs
for each row when (old.exclusive and old.state = 'running' and new.state <> 'running')
execute function millrace.wake_next_exclusive();

-- Takes the running runs from a worker that is lost: each is charged an attempt and waits for its
-- next one, or ends: cancelled if that was asked for, failed as poison when it lost its third worker
-- (the third executes it alone), failed when its attempts are used up.
create function millrace.take_runs(p_worker uuid) returns integer
language plpgsql as $$
declare
  taken integer;
  now timestamptz := clock_timestamp();
begin
  with lost as materialized (
    select r.id, r.queue, r.execution, r.started_at, r.run_at, r.priority,
           case when r.cancel_requested_at is not null then 'cancelled'
                when r.losses >= 2 or r.attempt >= r.max_attempts then 'failed'
                else 'retrying' end as next_state,
           case when r.cancel_requested_at is not null then 'cancelled'
                when r.losses >= 2 then 'poison'
                when r.attempt >= r.max_attempts then 'attempts_exhausted' end as next_code
      from millrace.runs r
     where r.worker_id = p_worker and r.state = 'running' and r.queue is not null and r.finished_at is null
     order by r.id for update
  ),
  ended as (
    update millrace.runs r
       set state = l.next_state, end_code = l.next_code, worker_id = null, losses = r.losses + 1,
           finished_at = case when l.next_code is not null then greatest(r.started_at, now) end,
           run_at = case when l.next_code is null then now else r.run_at end,
           ticket = case when l.next_code is null
                         then millrace.create_ticket(l.queue, l.id, now, l.priority) end
      from lost l where r.id = l.id
    returning r.id
  ),
  history as (
    insert into millrace.executions
      (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at, error)
    select l.id, l.execution, true, 'lost', p_worker,
           least(2147483647, greatest(0, extract(epoch from l.started_at - l.run_at) * 1000))::integer,
           l.started_at, greatest(l.started_at, now),
           json_build_object('name', 'WorkerLost', 'message', 'the worker was lost while it executed this run',
                             'stack', '')
      from lost l
  )
  select count(*) into taken from ended;
  return taken;
end $$;

-- Frees the tickets that the graphile pools of a lost worker hold.
create function millrace.unlock_tickets(p_pools text[]) returns void
language plpgsql as $$
declare
  q text;
begin
  for q in select name from millrace.queues order by name loop
    execute format('select %I.force_unlock_workers($1)', 'gw_' || q) using p_pools;
  end loop;
end $$;

-- Declares workers lost that have not renewed their lease for p_lease_ms, by the database's clock.
-- Any worker may call it at any time; a worker is taken apart once.
create function millrace.reap_workers(p_lease_ms integer)
returns table (worker_id uuid, host text, pid integer, runs integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  lost millrace.workers;
begin
  for lost in
    select * from millrace.workers
     where seen_at < clock_timestamp() - p_lease_ms * interval '1 millisecond'
     order by id for update skip locked
  loop
    delete from millrace.workers where id = lost.id;
    worker_id := lost.id;
    host := lost.host;
    pid := lost.pid;
    runs := millrace.take_runs(lost.id);
    perform millrace.unlock_tickets(lost.pools);
    return next;
  end loop;
end $$;

-- Repairs what no single event announces; one process at a time, others return at once. p_after: how
-- far the last pass came through the live runs; answers how far this one came (null: to the end).
create function millrace.sweep(p_after uuid, p_limit integer, p_lease_ms integer)
returns table (came_to uuid, repaired integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  q text;
  orphan record;
begin
  came_to := p_after;
  repaired := 0;
  if not pg_try_advisory_xact_lock(hashtextextended('millrace.sweep', 0)) then
    return next;
    return;
  end if;

  -- Calls of inline jobs whose process died.
  for orphan in
    select r.id, r.worker_id from millrace.runs r
     where r.queue is null and r.finished_at is null and r.lease_until < clock_timestamp()
  loop
    perform millrace.finish_inline(orphan.id, orphan.worker_id, 'lost', null, null, null);
    repaired := repaired + 1;
  end loop;

  -- Runs of workers that are not there at all.
  for orphan in
    select distinct r.worker_id from millrace.runs r
     where r.queue is not null and r.finished_at is null and r.worker_id is not null
       and not exists (select from millrace.workers w where w.id = r.worker_id)
  loop
    repaired := repaired + millrace.take_runs(orphan.worker_id);
  end loop;

  -- Tickets that a pool of no worker holds: it died before it could register.
  for q in select name from millrace.queues order by name loop
    execute format(
      'select %1$I.force_unlock_workers(array(
         select distinct j.locked_by from %1$I.jobs j
          where j.locked_by is not null and j.locked_at < clock_timestamp() - %2$s * interval ''1 millisecond''
            and not exists (select from millrace.workers w where j.locked_by = any (w.pools))))',
      'gw_' || q, p_lease_ms);
  end loop;

  -- Waiting runs whose ticket is gone, or is held without being worked on: by a fetch whose answer was
  -- lost, or by a process that fetched more than it gets to. A part of the runs per pass.
  with part as materialized (
    select r.id from millrace.runs r
     where r.finished_at is null and r.queue is not null and (p_after is null or r.id > p_after)
     order by r.id limit p_limit
  ),
  bare as materialized (
    select r.id from part join millrace.runs r on r.id = part.id
      left join millrace.tickets() t on t.queue = r.queue and t.ticket = r.ticket
     where r.state in ('queued', 'retrying')
       and (t.ticket is null or t.locked_at < clock_timestamp() - p_lease_ms * interval '1 millisecond')
     order by r.id
  ),
  renewed as (
    update millrace.runs r
       set ticket = millrace.create_ticket(r.queue, r.id, greatest(r.run_at, clock_timestamp()), r.priority)
      from bare where r.id = bare.id and r.state in ('queued', 'retrying')
    returning r.id
  )
  select case when (select count(*) from part) = p_limit then (select id from part order by id desc limit 1) end,
         repaired + (select count(*) from renewed)
    into came_to, repaired;
  return next;
end $$;

-- Asks for the end of a run. A waiting run is cancelled at once, a running one when its handler has
-- heard of it. Answers what was found: cancelled, requested, finished or unknown.
create function millrace.cancel_run(p_run uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  run millrace.runs;
begin
  select * into run from millrace.runs where id = p_run for update;
  if run.id is null then
    return 'unknown';
  elsif run.finished_at is not null then
    return 'finished';
  elsif run.state = 'running' then
    update millrace.runs set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
     where id = p_run;
    perform pg_notify('millrace', json_build_object('cancel', p_run)::text);
    return 'requested';
  end if;
  update millrace.runs
     set state = 'cancelled', end_code = 'cancelled', ticket = null, finished_at = clock_timestamp(),
         cancel_requested_at = clock_timestamp()
   where id = p_run;
  perform millrace.drop_tickets(run.queue, array[run.ticket]);
  return 'cancelled';
end $$;
