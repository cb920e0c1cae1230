/**
 * What keeps a waiting run of queue $1 and definition $2 from starting, priority $3, due at $4, its id $5.
 * `ahead` and `running` are counted among the $6 oldest live runs of the queue.
 */
export const waitingFacts = {
  name: 'millrace_waiting_facts',
  text: `
select (select json_build_object('by', q.paused_by, 'reason', q.pause_reason, 'at', q.paused_at,
                                 'until', q.paused_until)
          from millrace.queues q where q.name = $1 and millrace.is_paused(q.name)) as pause,
       w.workers, w.knowing, w.strands,
       live.ahead, live.running, live.looked,
       (select json_build_object('id', o.id, 'startedAt', o.started_at)
          from millrace.runs o
         where o.definition = $2 and o.exclusive and o.finished_at is null and o.state = 'running'
         limit 1) as other
  from (select count(*)::integer as workers,
               count(*) filter (where $2 = any (w.definitions))::integer as knowing,
               coalesce(sum((w.concurrency ->> $1)::integer), 0)::integer as strands
          from millrace.workers w
         where $1 = any (w.queues) and w.draining_at is null and w.stopping_at is null
           and w.seen_at > clock_timestamp() - interval '15 seconds') w,
       (select count(*)::integer as looked,
               count(*) filter (where r.state = 'running')::integer as running,
               count(*) filter (where r.state in ('queued', 'retrying') and r.run_at <= clock_timestamp()
                                  and (r.priority, r.run_at, r.id)
                                      < ($3::smallint, $4::timestamptz, $5::uuid))::integer as ahead
          from (select r.id, r.state, r.run_at, r.priority from millrace.runs r
                 where r.queue = $1 and r.finished_at is null order by r.queue, r.id limit $6) r) live`,
} as const;

export interface WaitingRow {
  readonly pause: {
    readonly by: string;
    readonly reason: string;
    readonly at: string;
    readonly until: string | null;
  } | null;
  readonly workers: number;
  readonly knowing: number;
  readonly strands: number;
  readonly ahead: number;
  readonly running: number;
  readonly looked: number;
  readonly other: { readonly id: string; readonly startedAt: string } | null;
}

export interface TicketRow {
  readonly runAt: Date;
  readonly lockedAt: Date | null;
}

/** Ticket $1 of a queue, by the name that the database has checked; in graphile-worker's public view. */
export function findTicket(queue: string): { readonly text: string } {
  const schema = `"gw_${queue.replaceAll('"', '""')}"`;
  return {
    text: `select j.run_at as "runAt", j.locked_at as "lockedAt" from ${schema}.jobs j where j.id = $1`,
  };
}

export interface RunningRow {
  readonly worker: {
    readonly host: string;
    readonly pid: number;
    readonly seenAt: string;
    readonly stoppingAt: string | null;
  } | null;
  /** The override under which it began. */
  readonly override: Readonly<Record<string, unknown>> | null;
}

/** $1 worker, $2 definition, $3 version of its override. */
export const runningFacts = {
  name: 'millrace_running_facts',
  text: `
select (select json_build_object('host', w.host, 'pid', w.pid, 'seenAt', w.seen_at,
                                 'stoppingAt', w.stopping_at)
          from millrace.workers w where w.id = $1::uuid) as worker,
       (select c.after from millrace.definition_changes c
         where c.definition = $2 and c.version = $3::integer) as override`,
} as const;

export interface EndedRow {
  readonly outcome: string | null;
  readonly error: string | null;
  readonly cancelledBy: string | null;
  readonly cancelReason: string | null;
}

/** How the latest execution of run $1 ended, and who asked for its end last. */
export const endedFacts = {
  name: 'millrace_ended_facts',
  text: `
select e.outcome, e.error ->> 'name' as error, a.actor_label as "cancelledBy", a.reason as "cancelReason"
  from (select) one
  left join lateral (select outcome, error from millrace.executions
                      where run_id = $1 order by execution desc limit 1) e on true
  left join lateral (select actor_label, reason from millrace.audit_events
                      where subject_kind = 'run' and subject = $1::text and action = 'jobs.run.cancelled'
                        and outcome = 'done'
                      order by id desc limit 1) a on true`,
} as const;
