/** $1 lease in milliseconds. */
export const reapWorkers = {
  name: 'millrace_reap_workers',
  text: 'select worker_id, host, pid, runs from millrace.reap_workers($1)',
} as const;

export interface ReapedWorker {
  readonly worker_id: string;
  readonly host: string;
  readonly pid: number;
  readonly runs: number;
}

/** $1 how far the last pass came, $2 how many live runs to look at, $3 lease in milliseconds. */
export const sweep = {
  name: 'millrace_sweep',
  text: 'select came_to, repaired from millrace.sweep($1, $2, $3)',
} as const;

/** Which of the runs $1 somebody wants to end. */
export const cancelRequests = {
  name: 'millrace_cancel_requests',
  text: `
select id from millrace.runs where id = any ($1::uuid[]) and cancel_requested_at is not null`,
} as const;

/** $1 run. */
export const cancelRun = 'select millrace.cancel_run($1) as found';
