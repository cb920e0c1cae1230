export interface WorkerRow {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly queues: readonly string[];
  readonly definitions: readonly string[];
  readonly concurrency: Readonly<Record<string, number>>;
  readonly startedAt: Date;
  readonly seenAt: Date;
  readonly stoppingAt: Date | null;
  readonly drainingAt: Date | null;
}

/** Those that have not been declared lost. */
export const listWorkers = {
  name: 'millrace_list_workers',
  text: `
select w.id, w.host, w.pid, w.version, w.queues, w.definitions, w.concurrency, w.started_at as "startedAt",
       w.seen_at as "seenAt", w.stopping_at as "stoppingAt", w.draining_at as "drainingAt"
  from millrace.workers w order by w.started_at, w.id`,
} as const;

/** $1 worker. Tells it. No row: there is no such worker; changed: it was not draining before. */
export const drainWorker = {
  name: 'millrace_drain_worker',
  text: `
with found as (
  select w.id, w.host, w.pid, w.draining_at is null as changed from millrace.workers w where w.id = $1 for update
),
drained as (
  update millrace.workers w set draining_at = clock_timestamp() from found f where w.id = f.id and f.changed
)
select f.host, f.pid, f.changed, pg_notify('millrace', json_build_object('worker', f.id)::text) from found f`,
} as const;
