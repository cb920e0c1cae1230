import type { Trigger } from '../../contract/run-state.ts';

const COLUMNS = `r.id, r.definition, r.ticket, r.execution, r.attempt, r.max_attempts, r.losses, r.args,
          r.context, r.slot, r.trigger,
          least(2147483647, greatest(0, extract(epoch from r.started_at - r.run_at) * 1000))::integer
            as waited_ms`;

/**
 * Claims the runs whose ticket is the delivered one, for a worker that is registered and can run
 * their definitions; exclusive runs are claimed one by one. Locks the worker's row against its reaper: either the claim is seen by the
 * reaper, or the claim finds no worker.
 * $1 run ids, $2 tickets (same order, sorted by id), $3 worker, $4 its definitions; of the definitions
 * with an override: $5 names, $6 versions.
 */
export const claimRuns = {
  name: 'millrace_claim_runs',
  text: `
with worker as materialized (
  select id from millrace.workers where id = $3 for key share
)
update millrace.runs r
   set state = 'running', execution = r.execution + 1, attempt = r.attempt + 1,
       worker_id = worker.id, started_at = clock_timestamp(),
       config_version = coalesce(($6::integer[])[array_position($5::text[], r.definition)], 0)
  from unnest($1::uuid[], $2::bigint[]) as t (id, ticket), worker
 where r.id = t.id and r.ticket = t.ticket and r.state in ('queued', 'retrying')
   and r.definition = any ($4::text[]) and not r.exclusive
   and r.queue <> all (array(
     select q.name from millrace.queues q
      where q.paused_at is not null and (q.paused_until is null or q.paused_until > clock_timestamp())))
returning ${COLUMNS}`,
} as const;

/**
 * Claims one exclusive run if no other of its definition is running; see prisma/migrations.
 * $1 run, $2 ticket, $3 worker, $4 its definitions.
 */
export const claimExclusive = {
  name: 'millrace_claim_exclusive',
  text: `select ${COLUMNS} from millrace.claim_exclusive($1, $2, $3, $4) r`,
} as const;

/** What an earlier try of the same claim had taken when its answer was lost. Same parameters. */
export const recoverClaims = {
  name: 'millrace_recover_claims',
  text: `
select ${COLUMNS}
  from unnest($1::uuid[], $2::bigint[]) as t (id, ticket)
  join millrace.runs r on r.id = t.id and r.ticket = t.ticket
 where r.state = 'running' and r.worker_id = $3 and r.definition = any ($4::text[])`,
} as const;

export interface ClaimedRun {
  readonly id: string;
  readonly definition: string;
  readonly ticket: string;
  readonly execution: number;
  readonly attempt: number;
  readonly max_attempts: number;
  /** Workers that were lost while they executed it. */
  readonly losses: number;
  readonly args: unknown;
  readonly context: Readonly<Record<string, unknown>>;
  readonly slot: Date | null;
  readonly trigger: Trigger;
  readonly waited_ms: number;
}
