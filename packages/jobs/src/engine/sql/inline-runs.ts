/**
 * $1 definition, $2 key, $3 slot, $4 context, $5 worker, $6 timeout in milliseconds of the code, which
 * operators may have changed, $7 by how much the lease is longer, $8 whether the code enables it.
 */
export const startInline = {
  name: 'millrace_start_inline',
  text: `
select s.verdict, s.run_id, s.count, s.more, t.timeout_ms
  from (select coalesce((select o.timeout_ms from millrace.definition_overrides o where o.definition = $1),
                        $6::integer) as timeout_ms) t,
       lateral millrace.start_inline($1, $2, $3, $4, $5, t.timeout_ms + $7::integer, $8) s`,
} as const;

export interface StartedInline {
  readonly verdict: 'started' | 'replayed' | 'running' | 'disabled';
  /** Null where it is disabled. */
  readonly run_id: string;
  readonly count: number | null;
  readonly more: boolean | null;
  readonly timeout_ms: number;
}

/** $1 run, $2 worker, $3 outcome, $4 error, $5 result, $6 key. */
export const finishInline = {
  name: 'millrace_finish_inline',
  text: 'select millrace.finish_inline($1, $2, $3, $4, $5, $6) as written',
} as const;

/** $1 run. */
export const inlineOutcome = {
  name: 'millrace_inline_outcome',
  text: `
select j.outcome, j.count, j.more from millrace.scheduler_jobs j where j.run_id = $1`,
} as const;

export interface InlineOutcome {
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | null;
  readonly count: number | null;
  readonly more: boolean | null;
}

/** Lets a key that joined a call answer as that call did, for ever: $1 run, $2 key. */
export const bindInlineKey = {
  name: 'millrace_bind_inline_key',
  text: `
insert into millrace.scheduler_jobs
  (run_id, definition, idempotency_key, enqueued_at, outcome, count, more, finished_at)
select run_id, definition, $2, enqueued_at, outcome, count, more, finished_at
  from millrace.scheduler_jobs where run_id = $1 and outcome = 'succeeded'
 order by id limit 1
on conflict do nothing`,
} as const;
