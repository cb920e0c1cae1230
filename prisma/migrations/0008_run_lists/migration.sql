-- Indexes of operators' lists (docs/adr/0011-run-lists.md). None names what a claim writes (state,
-- execution, attempt, worker_id, started_at, config_version), in its columns or its predicate: a claim
-- stays in its page. A run of the default queue that an application enqueues without tags and that
-- succeeds enters one of them, the first, and only while it is live.

create index runs_live_by_definition on millrace.runs (definition, id) where finished_at is null;

-- The end code is null while a run is live and when it has succeeded.
create index runs_failed on millrace.runs (id) where end_code <> 'cancelled';
create index runs_failed_by_definition on millrace.runs (definition, id) where end_code <> 'cancelled';
create index runs_cancelled on millrace.runs (id) where end_code = 'cancelled';

create index runs_by_queue on millrace.runs (queue, id) where queue <> 'default';
create index runs_by_trigger on millrace.runs (trigger, id) where trigger <> 'app';
create index runs_tagged on millrace.runs using gin (tags) where tags <> '{}';
