-- What an execution tells operators while it goes on. Written in batches, beside the run: a handler
-- waits for none of it, and a run's own row stays as small and as rarely updated as it is.

create table millrace.run_log (
  run_id uuid not null,
  execution integer not null check (execution >= 1),
  -- Gaps: lines that could not be kept.
  seq integer not null check (seq >= 1),
  at timestamptz not null,
  level text not null check (level in ('trace', 'debug', 'info', 'warn', 'error', 'fatal')),
  message text not null,
  fields jsonb,
  primary key (run_id, execution, seq)
);

-- How far the run is, as its latest execution said last.
create table millrace.run_progress (
  run_id uuid primary key,
  execution integer not null check (execution >= 1),
  done double precision not null,
  total double precision,
  note text,
  at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
