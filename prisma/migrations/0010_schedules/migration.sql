-- Built-in schedules: the next slot of each is kept here, every slot that came ends in the ledger.

-- The clock by which slots are due. Tests let it run from another time and faster.
create table millrace.clock (
  singleton boolean primary key default true check (singleton),
  real_since timestamptz not null,
  shown_since timestamptz not null,
  speed double precision not null check (speed > 0)
);

create function millrace.clock_now() returns timestamptz
language sql volatile as $$
  select coalesce(
    (select c.shown_since + (clock_timestamp() - c.real_since) * c.speed from millrace.clock c),
    clock_timestamp())
$$;

-- One row per definition that has or had a schedule. schedule and timezone: of which next_slot was made.
create table millrace.schedules (
  definition text primary key,
  schedule text not null,
  timezone text not null,
  next_slot timestamptz, -- null: it has no schedule now
  constraint schedules_next_slot_while_scheduled check ((next_slot is null) = (schedule = ''))
);
create index schedules_next_slot_idx on millrace.schedules (next_slot);

-- The ledger: what became of every slot that came.
create table millrace.slots (
  definition text not null,
  slot timestamptz not null,
  run_id uuid,
  skipped text check (skipped in ('disabled', 'still_running', 'missed', 'by_operator')),
  decided_at timestamptz not null default clock_timestamp(),
  primary key (definition, slot),
  constraint slots_run_or_reason check ((run_id is null) <> (skipped is null))
);

-- Decides the slots of a definition up to now: the ledger rows, the runs and the next slot, in one
-- statement, if next_slot is what the caller saw. p_slots and p_skips in the same order; for a slot
-- without a skip p_requests holds the request as for enqueue_runs, with overlap. Answers how many runs
-- were enqueued; null: somebody was faster.
create function millrace.take_slots(
  p_definition text, p_expected timestamptz, p_next timestamptz,
  p_slots timestamptz[], p_skips text[], p_requests jsonb[]
) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  n integer;
  overlap text;
  found_id uuid;
  started integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('millrace.trigger ' || p_definition, 0));
  update millrace.schedules set next_slot = p_next where definition = p_definition and next_slot = p_expected;
  if not found then
    return null;
  end if;
  insert into millrace.slots (definition, slot, skipped)
  select p_definition, s.slot, s.skip from unnest(p_slots, p_skips) as s (slot, skip)
   where s.skip is not null
  on conflict do nothing;

  for n in 1 .. coalesce(cardinality(p_slots), 0) loop
    continue when p_skips[n] is not null
      or exists (select from millrace.slots s where s.definition = p_definition and s.slot = p_slots[n]);
    overlap := coalesce(p_requests[n] ->> 'overlap', 'coalesce');
    found_id := null;
    if overlap <> 'allow' then
      select r.id into found_id from millrace.runs r
       where r.definition = p_definition and r.trigger in ('schedule', 'scheduler', 'manual')
         and r.finished_at is null and (overlap = 'skip' or r.state <> 'running')
       order by r.id desc limit 1;
    end if;
    if found_id is not null and overlap = 'skip' then
      insert into millrace.slots (definition, slot, skipped) values (p_definition, p_slots[n], 'still_running');
    else
      if found_id is null then
        select e.run_id into found_id from millrace.enqueue_runs(jsonb_build_array(
          p_requests[n] || jsonb_build_object(
            'trigger', 'schedule', 'slot', p_slots[n], 'exclusive', overlap <> 'allow'))) e;
        started := started + 1;
      end if;
      insert into millrace.slots (definition, slot, run_id) values (p_definition, p_slots[n], found_id);
    end if;
  end loop;
  return started;
end $$;
