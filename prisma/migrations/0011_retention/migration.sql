-- How far each duty of retention has come: what ended before is done.
create table millrace.retention (
  duty text primary key,
  done_until timestamptz not null
);

-- Runs end about in the order in which they lie in the table. An index of ranges costs the end of a run
-- next to nothing, and finds what ended in a span of time.
create index runs_finished_at on millrace.runs using brin (finished_at) with (pages_per_range = 32);
