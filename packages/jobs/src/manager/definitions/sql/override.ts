import type { ConfigOverride } from '../../../contract/override.ts';

const COLUMNS = `o.enabled, o.schedule, o.timezone, o.timeout_ms as "timeoutMs",
       o.max_attempts as "maxAttempts", o.queue, o.priority, o.version, o.updated_at as "updatedAt",
       o.updated_by as "updatedBy"`;

export interface OverrideRow extends ConfigOverride {
  readonly version: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** Serialises the changes of one definition until the transaction ends, its first one included: $1. */
export const lockDefinition = `
select pg_advisory_xact_lock(hashtextextended('millrace.definition ' || $1, 0))`;

/** $1 definition. */
export const readOverride = {
  name: 'millrace_read_override',
  text: `select ${COLUMNS} from millrace.definition_overrides o where o.definition = $1`,
} as const;

export const readOverrides = {
  name: 'millrace_read_overrides',
  text: `select o.definition, ${COLUMNS} from millrace.definition_overrides o order by o.definition`,
} as const;

/** $1 definition, $2 to $8 the fields, $9 version, $10 by whom. */
export const writeOverride = {
  name: 'millrace_write_override',
  text: `
insert into millrace.definition_overrides as o
  (definition, enabled, schedule, timezone, timeout_ms, max_attempts, queue, priority, version, updated_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (definition) do update
   set enabled = excluded.enabled, schedule = excluded.schedule, timezone = excluded.timezone,
       timeout_ms = excluded.timeout_ms, max_attempts = excluded.max_attempts, queue = excluded.queue,
       priority = excluded.priority, version = excluded.version, updated_at = clock_timestamp(),
       updated_by = excluded.updated_by`,
} as const;

/**
 * $1 definition, $2 version, $3 before, $4 after, $5 reason, $6 actor's kind, $7 id, $8 label, $9 request.
 * Tells every process.
 */
export const writeChange = {
  name: 'millrace_write_change',
  text: `
with change as (
  insert into millrace.definition_changes
    (definition, version, before, after, reason, actor_kind, actor_id, actor_label, request_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  returning definition
)
select pg_notify('millrace', json_build_object('definition', definition)::text) from change`,
} as const;

export interface ChangeRow {
  readonly version: number;
  readonly at: Date;
  readonly before: Partial<ConfigOverride>;
  readonly after: Partial<ConfigOverride>;
  readonly reason: string | null;
  readonly actorKind: string;
  readonly actorId: string;
  readonly actorLabel: string;
  readonly requestId: string;
}

/** Newest first: $1 definition, $2 below this version (null: from the newest), $3 how many. */
export const listChanges = {
  name: 'millrace_list_changes',
  text: `
select c.version, c.at, c.before, c.after, c.reason, c.actor_kind as "actorKind",
       c.actor_id as "actorId", c.actor_label as "actorLabel", c.request_id as "requestId"
  from millrace.definition_changes c
 where c.definition = $1 and ($2::integer is null or c.version < $2)
 order by c.version desc limit $3`,
} as const;

/** Whether a worker that was seen within 15 s and is not draining runs the queue: $1. */
export const isQueueActive = {
  name: 'millrace_is_queue_active',
  text: `
select exists (
  select from millrace.workers w
   where $1 = any (w.queues) and w.draining_at is null and w.stopping_at is null
     and w.seen_at > clock_timestamp() - interval '15 seconds') as active`,
} as const;
