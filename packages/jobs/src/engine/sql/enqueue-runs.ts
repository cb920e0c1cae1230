/** $1: jsonb array of requests; see the function's comment in prisma/migrations. */
export const enqueueRuns = {
  name: 'millrace_enqueue_runs',
  text: 'select ordinal, run_id, duplicate from millrace.enqueue_runs($1::jsonb)',
} as const;

export interface EnqueuedRow {
  readonly ordinal: number;
  readonly run_id: string;
  readonly duplicate: boolean;
}
