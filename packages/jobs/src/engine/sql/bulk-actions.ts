/** The bulk actions that go on, the oldest first, and when their rate allows the next batch. */
export const runningBulkActions = {
  name: 'millrace_running_bulk_actions',
  text: `
select b.id, greatest(0, extract(epoch from b.due_at - clock_timestamp()) * 1000)::float8 as "waitMs"
  from millrace.bulk_actions b where b.state = 'running' order by b.id`,
} as const;

/** $1 bulk action. No row: it is over, or another worker is at it. */
export const runBulkBatch = {
  name: 'millrace_run_bulk_batch',
  text: `
select treated, wait_ms as "waitMs" from millrace.run_bulk_batch($1)`,
} as const;
