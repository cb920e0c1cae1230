/** $1 run. Answers retried, erased, unknown or the state that it is in. */
export const retryRun = {
  name: 'millrace_retry_run',
  text: 'select millrace.retry_run($1) as found',
} as const;
