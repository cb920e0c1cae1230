/** $1 id, $2 host, $3 pid, $4 version, $5 queues, $6 definitions, $7 concurrency by queue. */
export const registerWorker = `
insert into millrace.workers (id, host, pid, version, queues, definitions, concurrency)
values ($1, $2, $3, $4, $5, $6, $7)`;

/** $1 definitions as the function wants them (see prisma/migrations), $2 version of the code. */
export const publishDefinitions = 'select millrace.publish_definitions($1, $2)';

/** $1 id, $2 pools. Touches no row when the worker has been declared lost. */
export const renewWorker = {
  name: 'millrace_renew_worker',
  text: 'update millrace.workers set seen_at = clock_timestamp(), pools = $2 where id = $1',
} as const;

/** $1 id. */
export const announceStop =
  'update millrace.workers set stopping_at = clock_timestamp() where id = $1';

/** $1 id. */
export const removeWorker = 'delete from millrace.workers where id = $1';
