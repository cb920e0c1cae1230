/** $1 action, $2 filter, $3 stored states, $4 reason, $5 rate, $6 … $8 actor, $9 request id. */
export const insertBulk = {
  name: 'millrace_insert_bulk',
  text: `
insert into millrace.bulk_actions
  (action, filter, states, reason, rate, actor_kind, actor_id, actor_label, request_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
returning id`,
} as const;

/** $1 bulk action, $2 how many runs matched. Nothing to do is done. */
export const setBulkTotal = {
  name: 'millrace_set_bulk_total',
  text: `
update millrace.bulk_actions
   set total = $2, state = case when $2 = 0 then 'done' else 'running' end,
       finished_at = case when $2 = 0 then clock_timestamp() end
 where id = $1`,
} as const;

const COLUMNS = `
select b.id, b.action, b.filter - 'ids' as filter,
       jsonb_array_length(b.filter -> 'ids') as "idCount", b.reason, b.rate, b.state, b.total, b.done,
       b.skipped, b.skips, b.total - b.done - b.skipped as remaining,
       b.actor_kind as "actorKind", b.actor_id as "actorId", b.actor_label as "actorLabel",
       b.started_at as "startedAt", b.finished_at as "finishedAt",
       case when b.state = 'running'
            then greatest(b.due_at, clock_timestamp())
                 + (b.total - b.done - b.skipped) * interval '1 second' / b.rate end as "estimatedEndAt"
  from millrace.bulk_actions b`;

/** A row of a list. */
export interface BulkRow {
  readonly id: string;
  readonly action: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly idCount: number | null;
  readonly reason: string;
  readonly rate: number;
  readonly state: string;
  readonly total: number;
  readonly done: number;
  readonly skipped: number;
  readonly skips: Readonly<Record<string, number>>;
  readonly remaining: number;
  readonly actorKind: string;
  readonly actorId: string;
  readonly actorLabel: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly estimatedEndAt: Date | null;
}

/** $1 bulk action. */
export const getBulk = {
  name: 'millrace_get_bulk',
  text: `${COLUMNS} where b.id = $1`,
} as const;

/** $1 limit. The newest first. */
export const listBulk = {
  name: 'millrace_list_bulk',
  text: `${COLUMNS} order by b.id desc limit $1`,
} as const;

/** $1 bulk action, $2 limit. */
export const skippedRuns = {
  name: 'millrace_skipped_runs',
  text: `
select i.run_id as id, i.skipped as code
  from millrace.bulk_items i where i.bulk_id = $1 and i.skipped is not null order by i.run_id limit $2`,
} as const;

/** $1 bulk action. Waits for the batch that is under way. */
export const lockBulk = {
  name: 'millrace_lock_bulk',
  text: 'select b.state from millrace.bulk_actions b where b.id = $1 for update',
} as const;

/** $1 bulk action, which is locked and running. */
export const abortBulk = {
  name: 'millrace_abort_bulk',
  text: `
with dropped as (delete from millrace.bulk_items i where i.bulk_id = $1 and i.skipped is null)
update millrace.bulk_actions set state = 'aborted', finished_at = clock_timestamp() where id = $1`,
} as const;
