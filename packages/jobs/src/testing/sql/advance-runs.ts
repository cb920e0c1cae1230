import pg from 'pg';

/** The queues that there are. */
export const queueNames = 'select name from millrace.queues order by name';

export interface AdvancedRuns {
  readonly moved: number;
  readonly due: number;
}

/**
 * Brings every run that waits for a later time, and its ticket, nearer by $1 milliseconds. A ticket lies in
 * the schema of its queue, hence the statement is made for the queues that there are.
 */
export function advanceRuns(queues: readonly string[]): string {
  const tickets = queues.map(
    (queue, index) => `,
ticket_${index} as (
  update ${pg.escapeIdentifier(`gw_${queue}`)}._private_jobs j set run_at = moved.run_at
    from moved where moved.queue = ${pg.escapeLiteral(queue)} and j.id = moved.ticket
)`,
  );
  return `
with moved as (
  update millrace.runs set run_at = run_at - $1::bigint * interval '1 millisecond'
   where queue is not null and state in ('queued', 'retrying') and run_at > clock_timestamp()
  returning queue, ticket, run_at
)${tickets.join('')}
select count(*)::integer as moved, count(*) filter (where run_at <= clock_timestamp())::integer as due
  from moved`;
}
