import type pg from 'pg';

import type { Finding } from './check.ts';
import { appendFaultRecord } from './fault-table.ts';
import type { Fault, Scenario } from './scenario.ts';

/**
 * From the last fault of a process to the next start of what it was executing and lost. Faulty
 * executions say so in the ledger; how soon they are repeated is no measure, since a run that keeps
 * killing its workers waits until it can be alone.
 */
const RESCUE = `
with fault as (
  select pid, at from unnest($1::integer[], $2::timestamptz[]) as f (pid, at) where pid is not null
  union all
  select pid, started_at from public.ledger where faulty
)
select max(extract(epoch from again.started_at - greatest(last.at, hurt.started_at)) * 1000)::float8 as ms
  from public.ledger hurt
  join millrace.executions e on e.run_id = hurt.run_id and e.execution = hurt.execution
  cross join lateral (select max(at) as at from fault
                       where fault.pid = hurt.pid and fault.at <= e.finished_at) last
  cross join lateral (select min(started_at) as started_at from public.ledger a
                       where a.run_id = hurt.run_id and a.execution > hurt.execution) again
 where e.outcome = 'lost' and not hurt.faulty
   -- A worker that comes back may start what it had only claimed, long after others have done it.
   and hurt.started_at < again.started_at`;

/** From a fault of all processes to the next start of any run. */
const RESUMPTION = `
select max(extract(epoch from next.started_at - at) * 1000)::float8 as ms
  from unnest($1::integer[], $2::timestamptz[]) as f (pid, at)
  cross join lateral (select min(started_at) as started_at from public.ledger where started_at > at) next
 where pid is null`;

/** Appends the row of a scenario that has been played to the table of faults. */
export async function recordFaults(fault: string, scenario: Scenario): Promise<void> {
  const { pool, faults, accepted } = scenario;
  const findings = await scenario.check();
  const { rows } = await pool.query<{ faulty: number }>(
    'select count(*)::integer as faulty from public.ledger where faulty',
  );
  const times = [await longest(pool, RESCUE, faults), await longest(pool, RESUMPTION, faults)];
  const known = times.filter((ms) => ms !== null);
  appendFaultRecord({
    fault,
    injected: faults.length + (rows[0]?.faulty ?? 0),
    runs: accepted(),
    lost: countOf(findings, 'lost'),
    repeatedWrongly: countOf(findings, 'repeated'),
    recoveryMs: known.length > 0 ? Math.max(...known) : null,
  });
}

async function longest(
  pool: pg.Pool,
  query: string,
  faults: readonly Fault[],
): Promise<number | null> {
  const values = [faults.map(({ pid }) => pid), faults.map(({ at }) => at)];
  const { rows } = await pool.query<{ ms: number | null }>(query, values);
  return rows[0]?.ms ?? null;
}

function countOf(findings: readonly Finding[], breach: Finding['breach']): number {
  return findings
    .filter((finding) => finding.breach === breach)
    .reduce((sum, { count }) => sum + count, 0);
}
