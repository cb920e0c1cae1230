/**
 * For tests and measurements: $1 runs, one every 2 s until now, of which the newest $2 are live and every
 * 400th of those is running. Five definitions from 55 down to 2 in 100, three queues, 3 in 100 failed with an
 * error, 1 cancelled, a tag on every fifth. Tickets and the history of the others are left out, so the
 * invariants do not hold; call it with triggers off, and analyze after it.
 */
export const generateRuns = `
with made as (
  insert into millrace.runs
    (id, definition, queue, state, trigger, run_at, ticket, execution, attempt, max_attempts, worker_id, tags,
     end_code, enqueued_at, started_at, finished_at, args)
  select encode(overlay(uuid_send(gen_random_uuid())
                        placing substring(int8send((extract(epoch from t.at) * 1000)::bigint) from 3)
                        from 1 for 6), 'hex')::uuid,
         d.definition,
         case d.definition when 'demo.report' then 'batch' when 'demo.mail' then 'mail' else 'default' end,
         s.state,
         case when n % 20 = 0 then 'schedule' when n % 33 = 0 then 'manual' else 'app' end,
         t.at, case when s.live then n end, (s.state <> 'queued')::integer, (s.state <> 'queued')::integer, 3,
         case when s.state = 'running' then '00000000-0000-7000-8000-00000000000f'::uuid end,
         case when n % 5 = 0 then array['customer:' || n % 5000] else '{}' end,
         case s.state when 'failed' then 'attempts_exhausted' when 'cancelled' then 'cancelled' end,
         t.at, case when s.state <> 'queued' then t.at + interval '10 ms' end,
         case when not s.live then t.at + interval '50 ms' end, '{"customer": "an argument"}'
    from generate_series(1, $1::integer) n,
         lateral (select now() - ($1 - n) * interval '2 s' as at) t,
         lateral (select case when n % 100 < 55 then 'demo.sync' when n % 100 < 80 then 'demo.report'
                              when n % 100 < 92 then 'demo.mail' when n % 100 < 98 then 'demo.bill'
                              else 'demo.audit' end as definition) d,
         lateral (select n > $1 - $2::integer as live, abs(hashint4(n)) % 100 as chance) c,
         lateral (select c.live, case when c.live and n % 400 = 7 then 'running'
                                      when c.live then 'queued'
                                      when c.chance < 3 then 'failed'
                                      when c.chance = 3 then 'cancelled' else 'succeeded' end as state) s
  returning id, state, started_at, finished_at
)
insert into millrace.executions
  (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at, error)
select id, 1, true, 'failed', '00000000-0000-7000-8000-00000000000f', 10, started_at, finished_at,
       jsonb_build_object('name', 'Error', 'message', 'no answer from host ' || abs(hashtext(id::text)) % 1000,
                          'stack', '')
  from made where state = 'failed'`;
