/** The channel by which processes tell each other, through PostgreSQL, what happened: ids only. */
const CHANNEL = 'millrace';

export const listen = `listen ${CHANNEL}`;

/** $1 the message. */
export const notify = `select pg_notify('${CHANNEL}', $1)`;

/**
 * What operators have set, as far as a worker minds it: $1 worker. `heldForMs`: until the first pause
 * ends by itself.
 */
export const controlState = {
  name: 'millrace_control_state',
  text: `
select coalesce((select json_agg(json_build_object(
                   'definition', o.definition, 'version', o.version, 'timeoutMs', o.timeout_ms))
                   from millrace.definition_overrides o), '[]') as overrides,
       coalesce((select json_agg(q.name) from millrace.queues q where millrace.is_paused(q.name)), '[]') as paused,
       (select min(extract(epoch from q.paused_until - clock_timestamp()) * 1000)::float8
          from millrace.queues q where millrace.is_paused(q.name)) as "heldForMs",
       exists (select from millrace.workers w where w.id = $1 and w.draining_at is not null) as draining`,
} as const;

export interface ControlStateRow {
  readonly overrides: readonly {
    readonly definition: string;
    readonly version: number;
    readonly timeoutMs: number | null;
  }[];
  readonly paused: readonly string[];
  readonly heldForMs: number | null;
  readonly draining: boolean;
}
