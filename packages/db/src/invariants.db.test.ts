import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { invariantViolations, useDatabase } from './testing.ts';

const RUNNING = '00000000-0000-7000-8000-000000000001';
const SUCCEEDED = '00000000-0000-7000-8000-000000000002';
const INLINE = '00000000-0000-7000-8000-000000000003';
const WORKER = '00000000-0000-7000-8000-00000000000f';

/** Inserts a queued run with this trigger, slot and dedupe key. */
function queued(columns: string): string {
  return `
insert into millrace.runs (id, definition, queue, state, run_at, max_attempts, ticket, trigger, slot, dedupe_key)
select r.id, 'test.echo', 'default', 'queued', now(), 3,
       millrace.create_ticket('default', r.id, now(), 0::smallint), ${columns}
  from (select millrace.uuid_v7() as id) r`;
}

/** One run of every kind; nothing is violated. */
const SOUND = `
insert into millrace.workers (id, host, pid, version, queues, definitions)
values ('${WORKER}', 'test', 1, 'test', '{default}', '{test.echo}');
${queued("'app', null, null")};
insert into millrace.runs (id, definition, queue, state, trigger, run_at, ticket, execution, attempt,
                           max_attempts, worker_id, started_at, finished_at, lease_until)
values ('${RUNNING}', 'test.echo', 'default', 'running', 'app', now(), 1, 2, 2, 3, '${WORKER}', now(), null, null),
       ('${SUCCEEDED}', 'test.echo', 'default', 'succeeded', 'scheduler', now(), null, 1, 1, 3, null, now(), now(), null),
       ('${INLINE}', 'test.sweep', null, 'running', 'scheduler', now(), null, 1, 1, 1, '${WORKER}', now(), null,
        now() + interval '1 minute');
insert into millrace.executions (run_id, execution, charged, outcome, worker_id, waited_ms, started_at, finished_at)
values ('${RUNNING}', 1, true, 'failed', '${WORKER}', 0, now(), now()),
       ('${SUCCEEDED}', 1, true, 'succeeded', '${WORKER}', 0, now(), now());
insert into millrace.scheduler_jobs (run_id, definition, idempotency_key, outcome, finished_at)
values ('${SUCCEEDED}', 'test.echo', 'key', 'succeeded', now()),
       ('${INLINE}', 'test.sweep', null, null, null);
insert into millrace.definition_overrides (definition, priority, version, updated_by)
values ('test.echo', 5, 1, 'Grace');
insert into millrace.definition_changes
  (definition, version, before, after, actor_kind, actor_id, actor_label, request_id)
values ('test.echo', 1, '{}', '{"priority": 5}', 'user', '1', 'Grace', 'r1');
insert into millrace.audit_events
  (action, outcome, actor_kind, actor_id, actor_label, subject_kind, subject, request_id, detail)
values ('jobs.definition.changed', 'done', 'user', '1', 'Grace', 'definition', 'test.echo', 'r1',
        '{"version": 1}')`;

/** What the database itself would refuse to let in. */
const UNGUARD = `
do $$
declare
  c record;
begin
  for c in select conrelid::regclass as tbl, conname from pg_constraint
            where connamespace = 'millrace'::regnamespace and contype = 'c'
  loop
    execute format('alter table %s drop constraint %I', c.tbl, c.conname);
  end loop;
end $$;
drop index millrace.runs_one_per_slot, millrace.runs_one_live_per_dedupe_key,
           millrace.runs_one_live_inline, millrace.scheduler_jobs_one_per_key;
alter table millrace.runs disable trigger user`;

/** [invariant, what is wrong, the statement that makes it so] */
const PLANTED: readonly (readonly [string, string, string])[] = [
  [
    'history_is_complete',
    'an execution is missing',
    `delete from millrace.executions where run_id = '${SUCCEEDED}';
     update millrace.runs set attempt = 0 where id = '${SUCCEEDED}'`,
  ],
  [
    'history_is_complete',
    'an execution has the number of the one that is going on',
    `update millrace.executions set execution = 2 where run_id = '${RUNNING}'`,
  ],
  [
    'history_is_complete',
    'an execution was recorded that was never claimed',
    `insert into millrace.executions
     select run_id, 2, false, 'snoozed', worker_id, 0, started_at, finished_at
       from millrace.executions where run_id = '${SUCCEEDED}'`,
  ],
  [
    'attempts_are_charged_executions',
    'an attempt is not charged',
    `update millrace.executions set charged = false where run_id = '${SUCCEEDED}'`,
  ],
  [
    'attempts_are_charged_executions',
    'a running run counts too many attempts',
    `update millrace.runs set attempt = 3 where id = '${RUNNING}'`,
  ],
  [
    'finished_is_final',
    'a finished run keeps a ticket',
    `update millrace.runs set ticket = 7 where id = '${SUCCEEDED}'`,
  ],
  [
    'finished_is_final',
    'a finished run keeps a worker',
    `update millrace.runs set worker_id = '${WORKER}' where id = '${SUCCEEDED}'`,
  ],
  [
    'finished_is_final',
    'a finished run has no end',
    `update millrace.runs set finished_at = null where id = '${SUCCEEDED}';
     update millrace.scheduler_jobs set outcome = null where run_id = '${SUCCEEDED}'`,
  ],
  [
    'finished_is_final',
    'an execution ended after its run',
    `update millrace.executions set finished_at = finished_at + interval '2 seconds'
      where run_id = '${SUCCEEDED}'`,
  ],
  [
    'one_run_per_slot',
    'a slot has two runs',
    `${queued("'schedule', date '2020-01-01', null")}; ${queued("'schedule', date '2020-01-01', null")}`,
  ],
  [
    'one_live_run_per_dedupe_key',
    'a key has two live runs',
    `${queued("'app', null, 'same'")}; ${queued("'app', null, 'same'")}`,
  ],
  [
    'one_job_per_idempotency_key',
    'a key has two answers',
    `insert into millrace.scheduler_jobs (run_id, definition, idempotency_key, outcome, finished_at)
     select run_id, definition, idempotency_key, outcome, finished_at
       from millrace.scheduler_jobs where idempotency_key is not null`,
  ],
  ['live_run_has_its_ticket', 'the ticket is gone', 'delete from gw_default._private_jobs'],
  [
    'live_run_has_its_ticket',
    'the ticket is in another queue',
    "update millrace.runs set queue = 'mail' where state = 'queued'",
  ],
  [
    'live_run_has_its_ticket',
    'a retrying run waits for no ticket',
    "update millrace.runs set state = 'retrying', ticket = null where state = 'queued'",
  ],
  ['running_run_has_a_live_worker', 'the worker is gone', 'delete from millrace.workers'],
  [
    'running_run_has_a_live_worker',
    'the lease of an inline run has ended',
    `update millrace.runs set lease_until = now() - interval '1 second' where id = '${INLINE}'`,
  ],
  [
    'one_exclusive_run_at_a_time',
    'two exclusive runs of a definition are running',
    `insert into millrace.runs (id, definition, queue, state, trigger, run_at, ticket, execution, attempt,
                                max_attempts, worker_id, started_at)
     values (millrace.uuid_v7(), 'test.echo', 'default', 'running', 'app', now(), 2, 1, 1, 3, '${WORKER}', now());
     update millrace.runs set exclusive = true where definition = 'test.echo' and state = 'running'`,
  ],
  [
    'execution_belongs_to_a_run',
    'the run is gone',
    `delete from millrace.runs where id = '${SUCCEEDED}'`,
  ],
  [
    'scheduler_job_knows_the_outcome',
    'the answer is another one',
    `update millrace.scheduler_jobs set outcome = 'failed' where run_id = '${SUCCEEDED}'`,
  ],
  [
    'scheduler_job_knows_the_outcome',
    'the answer is missing',
    `update millrace.scheduler_jobs set outcome = null where run_id = '${SUCCEEDED}'`,
  ],
  [
    'scheduler_job_knows_the_outcome',
    'the answer came before the end',
    `update millrace.scheduler_jobs set outcome = 'succeeded' where run_id = '${INLINE}'`,
  ],
  [
    'change_is_audited',
    'a change has no audit row',
    `update millrace.definition_changes set request_id = 'r2'`,
  ],
  [
    'override_has_its_version',
    'an override was written past its history',
    'update millrace.definition_overrides set version = 2',
  ],
];

describe('invariant_violations', () => {
  const database = useDatabase({ expectViolations: true });

  beforeAll(() => database.pool.query(UNGUARD));
  beforeEach(() => database.pool.query(SOUND));

  it('is empty while the records hold together', async () => {
    expect(await invariantViolations(database.pool)).toEqual([]);
  });

  it.each(PLANTED)('finds %s: %s', async (invariant, _wrong, sql) => {
    await database.pool.query(sql);
    const found = await invariantViolations(database.pool);
    expect([...new Set(found.map((violation) => violation.invariant))]).toEqual([invariant]);
  });

  it('knows no invariant that is not planted here', async () => {
    const { rows } = await database.pool.query<{ definition: string }>(
      "select pg_get_viewdef('millrace.invariant_violations'::regclass) as definition",
    );
    const selects = (rows[0]?.definition ?? '').matchAll(/SELECT '(\w+)'::text/g);
    expect(new Set([...selects].map(([, name]) => name))).toEqual(
      new Set(PLANTED.map(([name]) => name)),
    );
  });
});
