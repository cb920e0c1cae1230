/**
 * What waits and runs in queues, of each at most its $2 oldest live runs: the answer costs the same
 * however much waits. $1 queues.
 */
export const queueDepth = {
  name: 'millrace_queue_depth',
  text: `
select q.name as queue,
       count(*) filter (where r.state <> 'running' and r.run_at <= clock.now)::integer as queued,
       count(*) filter (where r.state <> 'running' and r.run_at > clock.now)::integer as scheduled,
       count(*) filter (where r.state = 'running')::integer as running,
       coalesce(extract(epoch from clock.now - min(r.run_at)
                  filter (where r.state <> 'running' and r.run_at <= clock.now)), 0)::float8
         as oldest_wait_s
  from (select clock_timestamp() as now) as clock,
       unnest($1::text[]) as q (name)
  left join lateral (
    select state, run_at from millrace.runs
     where queue = q.name and finished_at is null order by id limit $2
  ) r on true
 group by q.name, clock.now`,
} as const;

export interface QueueDepthRow {
  readonly queue: string;
  /** Due, and not running. */
  readonly queued: number;
  readonly scheduled: number;
  readonly running: number;
  readonly oldest_wait_s: number;
}
