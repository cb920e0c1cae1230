import type { RunState } from '../../contract/run-state.ts';

/** $1: jsonb array of requests; see the function's comment in prisma/migrations. */
export const triggerRuns = {
  name: 'millrace_trigger_runs',
  text: 'select ordinal, run_id, replayed, state, run_at from millrace.trigger_runs($1::jsonb)',
} as const;

export interface TriggeredRow {
  readonly ordinal: number;
  /** Null where the definition is disabled. */
  readonly run_id: string | null;
  readonly replayed: boolean;
  readonly state: RunState;
  readonly run_at: Date | null;
}
