-- Bulk actions: operators retry or cancel many runs at a rate (docs/adr/0012-bulk-actions.md).

------------------------------------------------------------------------------------------- tables

create table millrace.bulk_actions (
  id uuid primary key default millrace.uuid_v7(),
  action text not null check (action in ('retry', 'cancel')),
  filter jsonb not null,
  -- Stored states in which a run must still be when its turn comes.
  states text[] not null,
  reason text not null,
  -- Runs per second.
  rate integer not null check (rate between 1 and 1000),
  state text not null default 'running' check (state in ('running', 'done', 'aborted')),
  -- Runs that matched at the start.
  total integer not null default 0 check (total >= 0),
  done integer not null default 0 check (done >= 0),
  skipped integer not null default 0 check (skipped >= 0),
  -- How many of the skipped by code.
  skips jsonb not null default '{}',
  -- When the next batch may begin, by the rate; null: none has begun.
  due_at timestamptz,
  -- Up to which run this pass over the items came.
  came_to uuid,
  actor_kind text not null check (actor_kind in ('user', 'token', 'scheduler', 'system')),
  actor_id text not null,
  actor_label text not null,
  request_id text not null,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  org_id text, -- reserved
  constraint bulk_actions_count check (done + skipped <= total),
  constraint bulk_actions_finish check ((state = 'running') = (finished_at is null)),
  constraint bulk_actions_done_is_all check (state <> 'done' or done + skipped = total)
);
create index bulk_actions_running on millrace.bulk_actions (id) where state = 'running';

-- The runs of a bulk action that are still to be treated, and those that were skipped.
create table millrace.bulk_items (
  bulk_id uuid not null,
  run_id uuid not null,
  -- The end that is to be undone by a retry; a run that ended again since is somebody else's.
  ended_at timestamptz,
  -- Why it was skipped; null: it waits for its turn.
  skipped text,
  primary key (bulk_id, run_id)
);

create type millrace.bulk_verdict as (run_id uuid, verdict text);

--------------------------------------------------------------------------------------- set-based retry

-- What retry_run does with a run that can be retried, for several that the caller has locked and looked
-- at (a test holds both equal).
create function millrace.reopen_runs(p_runs uuid[]) returns void
language plpgsql as $$
declare
  q text;
  due timestamptz := clock_timestamp();
begin
  for q in select distinct r.queue from millrace.runs r where r.id = any (p_runs) order by 1 loop
    with run as materialized (
      select r.id, r.priority from millrace.runs r where r.id = any (p_runs) and r.queue = q
    ),
    ticket as materialized (
      select t.run_id, t.ticket from millrace.create_tickets(
        q, (select array_agg(x.id order by x.id) from run x), (select array_agg(due) from run),
        (select array_agg(x.priority order by x.id) from run x)) t
    )
    update millrace.runs r
       set state = 'queued', end_code = null, result = null, finished_at = null, cancel_requested_at = null,
           run_at = due, max_attempts = least(1000, greatest(r.attempt, r.max_attempts - 1) + 1),
           losses = least(r.losses, 2::smallint), ticket = t.ticket
      from ticket t where r.id = t.run_id;
  end loop;
end $$;

-- Reopens runs that have a dedupe key and answers those whose key a live run has. That one may have come
-- just now, or be about to: its transaction may be an application's and stay open, so it is waited for
-- but a moment.
create function millrace.reopen_keyed_runs(p_runs uuid[]) returns uuid[]
language plpgsql set lock_timeout = '10ms'
as $$
declare
  run uuid;
  lost uuid[] := '{}';
begin
  begin
    perform millrace.reopen_runs(p_runs);
    return lost;
  exception when unique_violation or lock_not_available then
    -- One by one then.
  end;
  foreach run in array p_runs loop
    begin
      perform millrace.reopen_runs(array[run]);
    exception when unique_violation or lock_not_available then
      lost := lost || run;
    end;
  end loop;
  return lost;
end $$;

-- The retries of a batch; its runs are locked. Answers what was found of each: retried, wrong_state,
-- changed (it ended again since), inline, erased, duplicate.
create function millrace.retry_bulk_runs(p_bulk uuid, p_runs uuid[], p_states text[])
returns millrace.bulk_verdict[]
language plpgsql as $$
declare
  verdicts millrace.bulk_verdict[];
  keyed uuid[];
  lost uuid[] := '{}';
begin
  verdicts := array(
    select row(f.id, case
             when f.verdict = 'retried' and f.dedupe_key is not null and (
               -- The first of a key wins.
               row_number() over (partition by f.verdict, f.definition, f.dedupe_key order by f.id) > 1
               or exists (select from millrace.runs live
                           where live.definition = f.definition and live.dedupe_key = f.dedupe_key
                             and live.finished_at is null))
             then 'duplicate' else f.verdict end)::millrace.bulk_verdict
      from (select r.id, r.definition, r.dedupe_key, case
                     when not r.state = any (p_states) then 'wrong_state'
                     when r.finished_at is distinct from i.ended_at then 'changed'
                     when r.queue is null then 'inline'
                     when r.args is null then 'erased'
                     else 'retried' end as verdict
              from millrace.runs r
              join millrace.bulk_items i on i.bulk_id = p_bulk and i.run_id = r.id
             where r.id = any (p_runs)) f);
  perform millrace.reopen_runs(array(
    select v.run_id from unnest(verdicts) v join millrace.runs r on r.id = v.run_id
     where v.verdict = 'retried' and r.dedupe_key is null));
  keyed := array(
    select v.run_id from unnest(verdicts) v join millrace.runs r on r.id = v.run_id
     where v.verdict = 'retried' and r.dedupe_key is not null
     -- In the order in which enqueue_runs takes keys.
     order by r.definition, r.dedupe_key);
  if cardinality(keyed) > 0 then
    lost := millrace.reopen_keyed_runs(keyed);
  end if;
  return array(
    select row(v.run_id, case when v.run_id = any (lost) then 'duplicate' else v.verdict end)
             ::millrace.bulk_verdict
      from unnest(verdicts) v);
end $$;

-- The cancels of a batch, each as cancel_run does it; its runs are locked. Answers cancelled, requested
-- or wrong_state.
create function millrace.cancel_bulk_runs(p_runs uuid[], p_states text[]) returns millrace.bulk_verdict[]
language plpgsql as $$
declare
  verdicts millrace.bulk_verdict[];
  waiting record;
begin
  verdicts := array(
    select row(r.id, case
             when not r.state = any (p_states) then 'wrong_state'
             when r.state = 'running' then 'requested'
             else 'cancelled' end)::millrace.bulk_verdict
      from millrace.runs r where r.id = any (p_runs));

  update millrace.runs r
     set cancel_requested_at = coalesce(r.cancel_requested_at, clock_timestamp())
    from unnest(verdicts) v where r.id = v.run_id and v.verdict = 'requested';
  perform pg_notify('millrace', json_build_object('cancel', v.run_id)::text)
     from unnest(verdicts) v where v.verdict = 'requested';

  for waiting in
    select r.queue, array_agg(r.ticket order by r.ticket) as tickets
      from unnest(verdicts) v join millrace.runs r on r.id = v.run_id
     where v.verdict = 'cancelled' group by r.queue order by r.queue
  loop
    perform millrace.drop_tickets(waiting.queue, waiting.tickets);
  end loop;
  update millrace.runs r
     set state = 'cancelled', end_code = 'cancelled', ticket = null, finished_at = clock_timestamp(),
         cancel_requested_at = clock_timestamp()
    from unnest(verdicts) v where r.id = v.run_id and v.verdict = 'cancelled';
  return verdicts;
end $$;

---------------------------------------------------------------------------------------------- batches

-- Treats the next runs of a bulk action, as many as a tenth of a second's worth, if its rate allows it now
-- and nobody else is at it. Any worker may call it at any time: what is done, its audit and the counters
-- are one transaction. Answers how many runs it treated and when it may be called again.
create function millrace.run_bulk_batch(p_bulk uuid) returns table (treated integer, wait_ms double precision)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  bulk millrace.bulk_actions;
  size integer;
  turn uuid[];
  runs uuid[];
  gone uuid[] := '{}';
  verdicts millrace.bulk_verdict[] := '{}';
  succeeded integer;
  now timestamptz := clock_timestamp();
begin
  treated := 0;
  select * into bulk from millrace.bulk_actions b
   where b.id = p_bulk and b.state = 'running' for update skip locked;
  if not found then
    return;
  end if;
  -- Late batches are made up for, but not those of a time when nobody was at it.
  bulk.due_at := greatest(coalesce(bulk.due_at, now), now - interval '200 milliseconds');
  if bulk.due_at > now then
    wait_ms := extract(epoch from bulk.due_at - now) * 1000;
    return next;
    return;
  end if;

  -- Locked runs are passed over; the next pass comes back to them.
  size := ceil(bulk.rate / 10.0);
  turn := array(
    select i.run_id from millrace.bulk_items i
     where i.bulk_id = p_bulk and i.skipped is null
       and i.run_id > coalesce(bulk.came_to, '00000000-0000-0000-0000-000000000000')
     order by i.run_id limit size);
  runs := array(select r.id from millrace.runs r where r.id = any (turn) order by r.id for update skip locked);
  if cardinality(runs) < cardinality(turn) then
    gone := array(select t.id from unnest(turn) as t (id)
                   where not exists (select from millrace.runs r where r.id = t.id));
  end if;

  if cardinality(runs) > 0 then
    verdicts := case bulk.action
                  when 'retry' then millrace.retry_bulk_runs(p_bulk, runs, bulk.states)
                  else millrace.cancel_bulk_runs(runs, bulk.states) end;
  end if;
  verdicts := verdicts
    || array(select row(g.id, 'unknown')::millrace.bulk_verdict from unnest(gone) as g (id));
  treated := cardinality(verdicts);

  insert into millrace.audit_events
    (action, outcome, actor_kind, actor_id, actor_label, subject_kind, subject, reason, request_id, detail)
  select case bulk.action when 'retry' then 'jobs.run.retried' else 'jobs.run.cancelled' end, 'done',
         bulk.actor_kind, bulk.actor_id, bulk.actor_label, 'run', v.run_id, bulk.reason, bulk.request_id,
         case bulk.action when 'retry' then jsonb_build_object('bulk', bulk.id)
                          else jsonb_build_object('bulk', bulk.id, 'outcome', v.verdict) end
    from unnest(verdicts) v where v.verdict in ('retried', 'cancelled', 'requested')
   order by v.run_id;
  get diagnostics succeeded = row_count;

  delete from millrace.bulk_items i using unnest(verdicts) v
   where i.bulk_id = p_bulk and i.run_id = v.run_id and v.verdict in ('retried', 'cancelled', 'requested');
  update millrace.bulk_items i set skipped = v.verdict from unnest(verdicts) v
   where i.bulk_id = p_bulk and i.run_id = v.run_id and v.verdict not in ('retried', 'cancelled', 'requested');

  bulk.due_at := bulk.due_at + treated * interval '1 second' / bulk.rate;
  bulk.done := bulk.done + succeeded;
  bulk.skipped := bulk.skipped + treated - succeeded;
  update millrace.bulk_actions b
     set done = bulk.done, skipped = bulk.skipped, due_at = bulk.due_at,
         skips = (
           select coalesce(jsonb_object_agg(s.code, s.n), '{}')
             from (select c.code, sum(c.n) as n
                     from (select e.key as code, e.value::integer as n from jsonb_each_text(b.skips) e
                           union all
                           select v.verdict, 1 from unnest(verdicts) v
                            where v.verdict not in ('retried', 'cancelled', 'requested')) c
                    group by c.code) s),
         came_to = case when cardinality(turn) = size then turn[size] end,
         state = case when bulk.done + bulk.skipped = b.total then 'done' else b.state end,
         finished_at = case when bulk.done + bulk.skipped = b.total then clock_timestamp() end
   where b.id = p_bulk;
  wait_ms := greatest(0, extract(epoch from bulk.due_at - clock_timestamp()) * 1000);
  return next;
end $$;
