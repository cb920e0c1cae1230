-- Operators' control: overrides of definitions with their history, pauses of queues, the audit.

-- As before, and: the 12 bits after the version say where in its millisecond the id was made (RFC 9562,
-- 6.2, method 3), so that what happened one after the other is in that order by id.
create or replace function millrace.uuid_v7() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    overlay(
      uuid_send(gen_random_uuid())
      placing substring(int8send(t.us / 1000) from 3)
              || int2send((28672 + (t.us % 1000) * 4096 / 1000)::smallint)
      from 1 for 8),
    'hex')::uuid
  from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
$$;

------------------------------------------------------------------------------------------- tables

-- What operators changed about a definition; null: as the code says. The row stays when everything is
-- reset, so that the version goes on counting.
create table millrace.definition_overrides (
  definition text primary key check (definition ~ '^[a-z][a-z0-9_.]{1,62}$'),
  enabled boolean,
  schedule text,
  timezone text,
  timeout_ms integer check (timeout_ms between 1000 and 86400000),
  max_attempts smallint check (max_attempts between 1 and 100),
  queue text references millrace.queues (name),
  priority smallint check (priority between -100 and 100),
  version integer not null check (version >= 1),
  updated_at timestamptz not null default clock_timestamp(),
  updated_by text not null,
  org_id text -- reserved
);

-- One row per version of an override: the overridden fields before and after it.
create table millrace.definition_changes (
  definition text not null,
  version integer not null check (version >= 1),
  at timestamptz not null default clock_timestamp(),
  before jsonb not null,
  after jsonb not null,
  reason text,
  actor_kind text not null,
  actor_id text not null,
  actor_label text not null,
  request_id text not null,
  primary key (definition, version),
  constraint definition_changes_alter check (before <> after)
);

-- The definitions of the code that runs, as the processes that start publish them.
create table millrace.definition_manifests (
  definition text primary key,
  form text not null check (form in ('queued', 'inline')),
  defaults jsonb not null,
  former_names text[] not null default '{}',
  code_version text not null,
  published_at timestamptz not null default clock_timestamp()
);

-- Who did what and why, and what was refused. Nobody changes it.
create table millrace.audit_events (
  id uuid primary key default millrace.uuid_v7(),
  at timestamptz not null default clock_timestamp(),
  action text not null check (action ~ '^[a-z][a-z0-9_.]+$'),
  outcome text not null check (outcome in ('done', 'denied')),
  actor_kind text not null check (actor_kind in ('user', 'token', 'scheduler', 'system')),
  actor_id text not null,
  actor_label text not null,
  subject_kind text not null,
  subject text not null,
  reason text,
  request_id text not null,
  detail jsonb not null default '{}',
  org_id text
);
create index audit_events_subject_kind_subject_id_idx on millrace.audit_events (subject_kind, subject, id);
create index audit_events_actor_id_id_idx on millrace.audit_events (actor_id, id);
create index audit_events_action_id_idx on millrace.audit_events (action, id);

create function millrace.refuse_change() returns trigger
language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'MR422';
end $$;

create trigger audit_events_append_only before update or delete or truncate on millrace.audit_events
for each statement execute function millrace.refuse_change();

alter table millrace.queues
  add column paused_at timestamptz,
  add column paused_until timestamptz,
  add column pause_reason text,
  add column paused_by text,
  add constraint queues_pause_is_whole check (
    (paused_at is null) = (pause_reason is null) and (paused_at is null) = (paused_by is null)
    and (paused_until is null or paused_until > paused_at));

alter table millrace.workers
  -- Asked for by an operator: it finishes what it runs, fetches nothing more and ends.
  add column draining_at timestamptz,
  -- Handlers at a time, by queue.
  add column concurrency jsonb not null default '{}';

alter table millrace.runs
  -- Of the override under which its latest execution began; 0: as the code says.
  add column config_version integer not null default 0;

-- Enqueues that found a run by its dedupe key. Not counted in the run's own row: a transaction that
-- enqueues and stays open would keep workers from claiming and ending the run.
create table millrace.duplicates (
  id bigint generated always as identity primary key,
  run_id uuid not null,
  at timestamptz not null default clock_timestamp()
);
create index duplicates_run_id_idx on millrace.duplicates (run_id);

------------------------------------------------------------------------------ effective configuration

create function millrace.is_enabled(p_definition text, p_default boolean) returns boolean
language sql stable as $$
  select coalesce((select o.enabled from millrace.definition_overrides o where o.definition = p_definition),
                  p_default, true)
$$;

create function millrace.config_version(p_definition text) returns integer
language sql stable as $$
  select coalesce((select o.version from millrace.definition_overrides o where o.definition = p_definition), 0)
$$;

-- A pause ends by itself at its time.
create function millrace.is_paused(p_queue text) returns boolean
language sql stable as $$
  select exists (select from millrace.queues q
                  where q.name = p_queue and q.paused_at is not null
                    and (q.paused_until is null or q.paused_until > clock_timestamp()))
$$;

-- Publishes the definitions of a process that starts: [{definition, form, defaults, formerNames}]. The
-- override and the history of a former name become those of the new one.
create function millrace.publish_definitions(p_definitions jsonb, p_code_version text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  renamed record;
begin
  insert into millrace.definition_manifests (definition, form, defaults, former_names, code_version)
  select d.definition, d.form, d.defaults, coalesce(d."formerNames", '{}'), p_code_version
    from jsonb_to_recordset(p_definitions)
      as d (definition text, form text, defaults jsonb, "formerNames" text[])
   order by d.definition
  on conflict (definition) do update
     set form = excluded.form, defaults = excluded.defaults, former_names = excluded.former_names,
         code_version = excluded.code_version, published_at = clock_timestamp();

  for renamed in
    select d.definition as heir, former.name
      from jsonb_to_recordset(p_definitions) as d (definition text, "formerNames" text[]),
           unnest(d."formerNames") as former (name)
     order by 1, 2
  loop
    delete from millrace.definition_manifests where definition = renamed.name;
    if not exists (select from millrace.definition_overrides where definition = renamed.heir) then
      update millrace.definition_overrides set definition = renamed.heir where definition = renamed.name;
      if found then
        update millrace.definition_changes set definition = renamed.heir where definition = renamed.name;
        perform pg_notify('millrace', json_build_object('definition', renamed.heir)::text);
      end if;
    end if;
  end loop;
end $$;

------------------------------------------------------------------------------- enqueue and triggers

-- As before, and: what operators set of queue, priority and attempts goes before what the code says;
-- the duplicates that a run absorbs are written down.
create or replace function millrace.enqueue_runs(requests jsonb)
returns table (ordinal integer, run_id uuid, duplicate boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  pending millrace.run_request[];
  joined millrace.found_run[];
  q text;
  lost bigint[];
begin
  select array_agg(row(
           r.ordinal, millrace.uuid_v7(), r.definition, coalesce(r.args, '{}'),
           coalesce(o.queue, r.queue), coalesce(o.priority, r.priority, 0::smallint),
           coalesce(o.max_attempts, r."maxAttempts"),
           coalesce(r."runAt", clock_timestamp() + coalesce(r."delayMs", 0) * interval '1 millisecond'),
           coalesce(r.trigger, 'app'), r."dedupeKey", coalesce(r.tags, '{}'), coalesce(r.context, '{}'),
           r.slot, coalesce(r.exclusive, false))::millrace.run_request order by r.ordinal)
    into pending
    from rows from (jsonb_to_recordset(requests) as (
           definition text, args jsonb, queue text, priority smallint, "maxAttempts" smallint,
           "runAt" timestamptz, "delayMs" bigint, trigger text, "dedupeKey" text, tags text[],
           context jsonb, slot timestamptz, exclusive boolean)) with ordinality
         as r (definition, args, queue, priority, "maxAttempts", "runAt", "delayMs", trigger, "dedupeKey",
               tags, context, slot, exclusive, ordinal)
    left join millrace.definition_overrides o on o.definition = r.definition;

  -- Said here, since the message of a violated constraint would show the whole row, arguments included.
  if pending is null then
    raise exception 'enqueue_runs needs an array of at least one request' using errcode = 'MR422';
  elsif exists (select from unnest(pending) p where (p.definition ~ '^[a-z][a-z0-9_.]{1,62}$') is not true) then
    raise exception 'a definition has 2 to 63 of a-z, 0-9, "_" and ".", starting with a letter'
      using errcode = 'MR422';
  elsif exists (select from unnest(pending) p where (p.max_attempts between 1 and 1000) is not true) then
    raise exception 'maxAttempts must be 1 to 1000' using errcode = 'MR422';
  elsif exists (select from unnest(pending) p where p.priority not between -100 and 100) then
    raise exception 'priority must be -100 to 100' using errcode = 'MR422';
  elsif exists (select from unnest(pending) p where not isfinite(p.run_at)) then
    raise exception 'runAt must be an instant' using errcode = 'MR422';
  elsif exists (select from unnest(pending) p
                 where p.trigger not in ('schedule', 'scheduler', 'manual', 'event', 'app')) then
    raise exception 'trigger must be schedule, scheduler, manual, event or app' using errcode = 'MR422';
  end if;
  for q in select distinct coalesce(p.queue, '') from unnest(pending) p loop
    if not exists (select from millrace.queues where name = q) then
      raise exception 'there is no queue "%": declare it in code and migrate', q using errcode = 'MR404';
    end if;
  end loop;

  -- A request with a dedupe key may find a live run, or lose a race for it and look again.
  while cardinality(pending) > 0 loop
    -- Decided once: what is answered here is exactly what is taken off.
    if exists (select from unnest(pending) p where p.dedupe_key is not null) then
      joined := array(
        select row(p.ordinal, r.id)::millrace.found_run
          from unnest(pending) p
          join millrace.runs r on r.definition = p.definition and r.dedupe_key = p.dedupe_key
               and r.finished_at is null
         where p.dedupe_key is not null);
      insert into millrace.duplicates (run_id) select f.run_id from unnest(joined) f;
      return query select f.ordinal, f.run_id, true from unnest(joined) f;
      pending := array(
        select p from unnest(pending) p
         where not exists (select from unnest(joined) f where f.ordinal = p.ordinal)
         order by p.ordinal);
    end if;

    for q in select distinct p.queue from unnest(pending) p order by 1 loop
      return query
        with request as materialized (select * from unnest(pending) p where p.queue = q),
        ticket as materialized (
          select t.run_id as id, t.ticket from millrace.create_tickets(
            q, (select array_agg(x.id order by x.ordinal) from request x),
            (select array_agg(x.run_at order by x.ordinal) from request x),
            (select array_agg(x.priority order by x.ordinal) from request x)) t
        ),
        inserted as (
          insert into millrace.runs as r (
            id, definition, queue, state, trigger, priority, run_at, ticket, max_attempts, args,
            context, tags, slot, dedupe_key, exclusive)
          select x.id, x.definition, x.queue, 'queued', x.trigger, x.priority, x.run_at, t.ticket,
                 x.max_attempts, x.args, x.context, x.tags, x.slot, x.dedupe_key,
                 x.exclusive
            from request x join ticket t on t.id = x.id
           -- The first of a key wins, and two statements that name the same keys wait, not deadlock.
           order by x.definition, x.dedupe_key, x.ordinal
          on conflict (definition, dedupe_key) where dedupe_key is not null and finished_at is null
          do nothing
          returning r.id
        ),
        unneeded as (
          select millrace.drop_tickets(q, array_agg(t.ticket))
            from ticket t where not exists (select from inserted i where i.id = t.id) having count(*) > 0
        )
        select x.ordinal, x.id, false
          from request x join inserted i on i.id = x.id
         where (select count(*) from unneeded) >= 0;
    end loop;

    -- Only requests with a dedupe key can be left over.
    pending := array(
      select p from unnest(pending) p
       where p.dedupe_key is not null and not exists (select from millrace.runs r where r.id = p.id)
       order by p.ordinal);
  end loop;
end $$;

-- As before, and: answers no run where the definition is disabled ("enabled" says what the code says).
create or replace function millrace.trigger_runs(requests jsonb)
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

    -- A known key is answered all the same; only new work is refused.
    if not known and not millrace.is_enabled(request.definition, (request.body ->> 'enabled')::boolean) then
      ordinal := request.n;
      run_id := null;
      replayed := false;
      state := null;
      run_at := null;
      return next;
      continue;
    end if;

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

-- As before, and: a disabled definition is not started. The function without p_enabled stays for web
-- processes of the version before, which still run while a deploy goes on.
create function millrace.start_inline(
  p_definition text, p_key text, p_slot timestamptz, p_context jsonb, p_worker uuid, p_lease_ms integer,
  p_enabled boolean
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

  if not millrace.is_enabled(p_definition, p_enabled) then
    return query select 'disabled', null::uuid, null::integer, null::boolean;
    return;
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

-- As before, and: it may have been cancelled.
create or replace function millrace.finish_inline(
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
     set state = case when p_outcome in ('succeeded', 'cancelled') then p_outcome else 'failed' end,
         end_code = case p_outcome when 'succeeded' then null when 'timed_out' then 'timed_out'
                                   when 'cancelled' then 'cancelled' else 'attempts_exhausted' end,
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

-- As before, and: nothing of a paused queue.
create or replace function millrace.claim_exclusive(
  p_run uuid, p_ticket bigint, p_worker uuid, p_definitions text[]
) returns setof millrace.runs
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  found_definition text;
begin
  select definition into found_definition from millrace.runs
   where id = p_run and ticket = p_ticket and exclusive and state in ('queued', 'retrying')
     and definition = any (p_definitions) and not millrace.is_paused(queue);
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
           worker_id = p_worker, started_at = clock_timestamp(),
           config_version = millrace.config_version(r.definition)
     where r.id = p_run and r.ticket = p_ticket and r.state in ('queued', 'retrying')
    returning r.*;
end $$;

--------------------------------------------------------------------------------------------- verbs

-- Opens a failed or cancelled run again, with one more attempt if it has used them up. Answers: retried,
-- unknown, erased (its arguments are gone), duplicate (another run has its dedupe key), or its state. A run that had lost workers keeps
-- the count short of quarantine: it is executed alone.
create function millrace.retry_run(p_run uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  run millrace.runs;
  due timestamptz := clock_timestamp();
begin
  select * into run from millrace.runs where id = p_run for update;
  if run.id is null then
    return 'unknown';
  elsif run.state not in ('failed', 'cancelled') or run.queue is null then
    return run.state;
  elsif run.args is null then
    return 'erased';
  end if;
  begin
    update millrace.runs
       set state = 'queued', end_code = null, result = null, finished_at = null, cancel_requested_at = null,
           run_at = due, max_attempts = least(1000, greatest(run.attempt, run.max_attempts - 1) + 1),
           losses = least(run.losses, 2::smallint),
           ticket = millrace.create_ticket(run.queue, run.id, due, run.priority)
     where id = p_run;
  exception when unique_violation then
    return 'duplicate';
  end;
  return 'retried';
end $$;

-- Starts a run because a person asked for it: one request as for enqueue_runs, with overlap and enabled.
-- Answers started, joined (the run that waits, by overlap), skipped (one is live), or disabled.
create function millrace.run_now(request jsonb) returns table (verdict text, run_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  overlap text := coalesce(request ->> 'overlap', 'coalesce');
  found_id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || (request ->> 'definition'), 0));
  if not millrace.is_enabled(request ->> 'definition', (request ->> 'enabled')::boolean) then
    return query select 'disabled', null::uuid;
    return;
  end if;
  if overlap <> 'allow' then
    select r.id into found_id from millrace.runs r
     where r.definition = request ->> 'definition' and r.trigger in ('schedule', 'scheduler', 'manual')
       and r.finished_at is null and (overlap = 'skip' or r.state <> 'running')
     order by r.id desc limit 1;
    if found then
      return query select case overlap when 'skip' then 'skipped' else 'joined' end, found_id;
      return;
    end if;
  end if;
  return query
    select 'started', e.run_id from millrace.enqueue_runs(jsonb_build_array(
      request || jsonb_build_object('trigger', 'manual', 'exclusive', overlap <> 'allow'))) e;
end $$;

-------------------------------------------------------------------------------------- invariants

-- As before, and: every change of an operator's has its audit row and its version.
create or replace view millrace.invariant_violations as
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
      or (r.finished_at is null and j.outcome is not null)
  union all
  select 'change_is_audited', null, format('version %s of %s', c.version, c.definition)
    from millrace.definition_changes c
   where not exists (select from millrace.audit_events a
                      where a.subject_kind = 'definition' and a.action = 'jobs.definition.changed'
                        and a.outcome = 'done' and a.request_id = c.request_id
                        and (a.detail ->> 'version')::integer = c.version)
  union all
  select 'override_has_its_version', null, format('%s says version %s', o.definition, o.version)
    from millrace.definition_overrides o
   where o.version <> (select coalesce(max(c.version), 0) from millrace.definition_changes c
                        where c.definition = o.definition);
