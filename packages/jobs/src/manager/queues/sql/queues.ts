/** $1 queue. Keeps it as it is until the transaction ends. */
export const lockQueue = {
  name: 'millrace_lock_queue',
  text: `
select q.name, millrace.is_paused(q.name) as paused from millrace.queues q where q.name = $1 for update`,
} as const;

/** $1 queue, $2 until (null: until it is resumed), $3 reason, $4 by whom. Tells every process. */
export const pauseQueue = {
  name: 'millrace_pause_queue',
  text: `
with paused as (
  update millrace.queues
     set paused_at = clock_timestamp(), paused_until = $2, pause_reason = $3, paused_by = $4
   where name = $1
  returning name, paused_at
)
select paused_at as "pausedAt", pg_notify('millrace', json_build_object('queue', name)::text) from paused`,
} as const;

/** $1 queue. Tells every process. */
export const resumeQueue = {
  name: 'millrace_resume_queue',
  text: `
with resumed as (
  update millrace.queues
     set paused_at = null, paused_until = null, pause_reason = null, paused_by = null
   where name = $1
  returning name
)
select pg_notify('millrace', json_build_object('queue', name)::text) from resumed`,
} as const;

export interface QueueRow {
  readonly name: string;
  readonly paused: boolean;
  readonly pausedAt: Date | null;
  readonly pausedUntil: Date | null;
  readonly pauseReason: string | null;
  readonly pausedBy: string | null;
  readonly waiting: number;
  readonly due: number;
  readonly running: number;
  readonly oldestWaitMs: number | null;
  readonly limit: number;
  readonly workers: number;
}

/**
 * $1 queue (null: all), $2 up to how many runs are counted. A pause that has ended by itself is none.
 * Counts look at live runs only; the oldest wait is that of the first due run by id.
 */
export const listQueues = {
  name: 'millrace_list_queues',
  text: `
select q.name, p.paused,
       case when p.paused then q.paused_at end as "pausedAt",
       case when p.paused then q.paused_until end as "pausedUntil",
       case when p.paused then q.pause_reason end as "pauseReason",
       case when p.paused then q.paused_by end as "pausedBy",
       live.waiting, live.due, live.running,
       (select greatest(0, extract(epoch from clock_timestamp() - r.run_at) * 1000)::float8
          from (select r.run_at, r.state from millrace.runs r
                 where r.queue = q.name and r.finished_at is null order by r.id limit $2) r
         where r.state in ('queued', 'retrying') and r.run_at <= clock_timestamp()
         order by r.run_at limit 1) as "oldestWaitMs",
       coalesce(w.strands, 0)::integer as "limit", coalesce(w.workers, 0)::integer as workers
  from millrace.queues q
 cross join lateral (select millrace.is_paused(q.name) as paused) p
 cross join lateral (
   select count(*) filter (where r.state in ('queued', 'retrying'))::integer as waiting,
          count(*) filter (where r.state in ('queued', 'retrying') and r.run_at <= clock_timestamp())::integer as due,
          count(*) filter (where r.state = 'running')::integer as running
     from (select r.state, r.run_at from millrace.runs r
            where r.queue = q.name and r.finished_at is null order by r.id limit $2) r) live
  left join lateral (
   select count(*) as workers, sum((w.concurrency ->> q.name)::integer) as strands
     from millrace.workers w
    where q.name = any (w.queues) and w.draining_at is null and w.stopping_at is null
      and w.seen_at > clock_timestamp() - interval '15 seconds') w on true
 where $1::text is null or q.name = $1
 order by q.name`,
} as const;
