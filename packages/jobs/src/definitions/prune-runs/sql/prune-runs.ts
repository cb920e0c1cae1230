/** What ended shortly before the mark may have been committed after it was set. */
const ENDED = (state: string): string => `
       r.finished_at >= coalesce((select t.done_until from millrace.retention t where t.duty = $1), '-infinity')
                          - interval '10 minutes'
   and r.finished_at < $2::timestamptz${state}`;

const HAS_CONTENT = `
   and (r.args is not null or r.result is not null
        or exists (select from millrace.executions e where e.run_id = r.id and e.error is not null))`;

/**
 * Erases what runs of one state worked on: $1 duty, $2 those that ended before, $3 state, $4 at most so
 * many. Runs that somebody is changing are left for later. Answers how many.
 */
export const eraseContent = `
with found as materialized (
  select r.id from millrace.runs r
   where ${ENDED(' and r.state = $3')}${HAS_CONTENT}
   limit $4::integer for update skip locked
),
run as (
  update millrace.runs r set args = null, result = null from found f where r.id = f.id
),
error as (
  update millrace.executions e set error = null from found f where e.run_id = f.id and e.error is not null
),
line as (delete from millrace.run_log l using found f where l.run_id = f.id),
progress as (delete from millrace.run_progress p using found f where p.run_id = f.id),
word as (delete from millrace.run_search s using found f where s.run_id = f.id)
select count(*)::integer as count from found`;

/** Whether any is left: $1 to $3 as above. */
export const contentLeft = `
select exists (select from millrace.runs r where ${ENDED(' and r.state = $3')}${HAS_CONTENT}) as "left"`;

/** Removes runs with all that is theirs: $1 duty, $2 those that ended before, $3 at most so many. */
export const removeRuns = `
with found as materialized (
  select r.id from millrace.runs r where ${ENDED('')}
   limit $3::integer for update skip locked
),
execution as (delete from millrace.executions e using found f where e.run_id = f.id),
line as (delete from millrace.run_log l using found f where l.run_id = f.id),
progress as (delete from millrace.run_progress p using found f where p.run_id = f.id),
word as (delete from millrace.run_search s using found f where s.run_id = f.id),
duplicate as (delete from millrace.duplicates d using found f where d.run_id = f.id),
run as (delete from millrace.runs r using found f where r.id = f.id)
select count(*)::integer as count from found`;

/** Whether any is left: $1 and $2 as above. */
export const runsLeft = `
select exists (select from millrace.runs r where ${ENDED('')}) as "left"`;

/** Removes bulk actions that ended before $1, with their items. */
export const removeBulkActions = `
with gone as (delete from millrace.bulk_actions b where b.finished_at < $1::timestamptz returning b.id),
items as (delete from millrace.bulk_items i using gone g where i.bulk_id = g.id)
select count(*)::integer as count from gone`;

/** $1 duty, $2 how far it has come. */
export const setMark = `
insert into millrace.retention as t (duty, done_until) values ($1, $2::timestamptz)
on conflict (duty) do update set done_until = greatest(t.done_until, excluded.done_until)`;

/** The instant that lies $1 milliseconds back. */
export const instantBefore = `
select clock_timestamp() - $1::bigint * interval '1 millisecond' as instant`;
