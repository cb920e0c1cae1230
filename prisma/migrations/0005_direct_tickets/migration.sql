-- add_jobs keeps keys, named queues and tasks in order, which tickets do not have: its statements cost
-- more than everything else about an enqueue. So the rows are written as it would write them (a test
-- holds both equal), and it is called only while graphile-worker does not know the task yet.
create or replace function millrace.create_tickets(
  p_queue text, p_run_ids uuid[], p_run_ats timestamptz[], p_priorities smallint[]
) returns table (run_id uuid, ticket bigint)
language plpgsql as $$
begin
  return query execute format(
    'insert into %1$I._private_jobs (task_id, payload, run_at, max_attempts, priority)
     select task.id, json_build_object(''runId'', t.run_id), t.run_at, 32000, t.priority
       from unnest($1, $2, $3) with ordinality as t (run_id, run_at, priority, n),
            %1$I._private_tasks as task
      where task.identifier = ''run''
      order by t.n
     returning (payload ->> ''runId'')::uuid, id',
    'gw_' || p_queue)
  using p_run_ids, p_run_ats, p_priorities;
  if found then
    perform pg_notify('jobs:insert', json_build_object('r', random()::text, 'count', cardinality(p_run_ids))::text);
    return;
  end if;
  return query execute format(
    'select (job.payload ->> ''runId'')::uuid, job.id::bigint
       from %1$I.add_jobs(array(
         select row(''run'', json_build_object(''runId'', t.run_id), null, t.run_at, 32000, null,
                    t.priority, null)::%1$I.job_spec
           from unnest($1, $2, $3) with ordinality as t (run_id, run_at, priority, n)
          order by t.n)) as job',
    'gw_' || p_queue)
  using p_run_ids, p_run_ats, p_priorities;
end $$;
