/** $1: one request; see the function's comment in prisma/migrations. */
export const runNow = {
  name: 'millrace_run_now',
  text: 'select verdict, run_id from millrace.run_now($1::jsonb)',
} as const;

export interface RunNowRow {
  readonly verdict: 'started' | 'joined' | 'skipped' | 'disabled';
  /** Null where it is disabled. */
  readonly run_id: string | null;
}
