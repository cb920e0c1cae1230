/**
 * Gives waiting runs a new ticket in place of the delivered one, without an execution: what a worker
 * does with tickets that it will not work on. The old ticket may then be dropped. In a paused queue there is
 * no delay: nothing is fetched from it, and it starts with the resumption.
 * Arrays of the same order, sorted by run id: $1 runs, $2 tickets, $3 delays in milliseconds.
 */
export const renewTickets = {
  name: 'millrace_renew_tickets',
  text: `
update millrace.runs r
   set ticket = millrace.create_ticket(
         r.queue, r.id,
         greatest(r.run_at, clock_timestamp() + t.delay_ms * interval '1 millisecond'
                                              * (not millrace.is_paused(r.queue))::integer),
         r.priority)
  from unnest($1::uuid[], $2::bigint[], $3::integer[]) as t (id, ticket, delay_ms)
 where r.id = t.id and r.ticket = t.ticket and r.state in ('queued', 'retrying')
returning r.id`,
} as const;
