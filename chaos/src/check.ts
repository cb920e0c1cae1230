import type pg from 'pg';

import { FLAKY_DELAY_MS } from './jobs.ts';

/** What it means that a rule was broken. */
type Breach = 'lost' | 'repeated' | 'inconsistent';

/** A statement about records and ledger that did not hold, with how often. */
export interface Finding {
  readonly rule: string;
  readonly breach: Breach;
  readonly count: number;
  readonly example: string;
}

/** Each query selects the cases that break its rule; a column `example` names one. */
const RULES: Readonly<Record<string, string>> = {
  'every accepted run ends': `
    select format('%s is %s', id, state) as example from millrace.runs where finished_at is null`,
  'the invariants hold': `
    select format('%s: %s %s', invariant, run_id, detail) as example from millrace.invariant_violations`,
  'a run succeeds once': `
    select format('%s succeeded %s times', run_id, count(*)) as example
      from millrace.executions where outcome = 'succeeded' group by run_id having count(*) > 1`,
  'what succeeded was done': `
    select format('%s execution %s', e.run_id, e.execution) as example
      from millrace.executions e
     where e.outcome = 'succeeded'
       and not exists (select from public.ledger l
                        where l.run_id = e.run_id and l.execution = e.execution and l.ended_at is not null)`,
  'what was done is recorded': `
    select format('%s execution %s', l.run_id, l.execution) as example
      from public.ledger l
     where not exists (select from millrace.executions e
                        where e.run_id = l.run_id and e.execution = l.execution)`,
  'an execution starts its handler at most once': `
    select format('%s execution %s', run_id, execution) as example
      from public.ledger group by run_id, execution having count(*) > 1`,
  'a handler never starts while another execution of its run holds a lease': `
    select format('%s: %s started within %s', a.run_id, b.execution, a.execution) as example
      from public.ledger a
      join public.ledger b on b.run_id = a.run_id and b.execution > a.execution
      join millrace.executions ea on ea.run_id = a.run_id and ea.execution = a.execution
     where b.started_at < ea.finished_at`,
  'only a lost or a deaf execution may still be working when it is recorded as ended': `
    select format('%s execution %s', l.run_id, l.execution) as example
      from public.ledger l
      join millrace.executions e on e.run_id = l.run_id and e.execution = l.execution
     where l.ended_at > e.finished_at and e.outcome not in ('lost', 'timed_out')`,
  'a retry waits for its delay': `
    select format('%s execution %s', b.run_id, b.execution) as example
      from millrace.executions a
      join millrace.executions b on b.run_id = a.run_id and b.execution = a.execution + 1
      join millrace.runs r on r.id = a.run_id
     where r.definition = 'flaky' and a.outcome = 'failed'
       and b.started_at < a.finished_at + ${FLAKY_DELAY_MS - 5} * interval '1 millisecond'`,
};

/** The rules whose breach is more than a contradiction. */
const BREACHES: Readonly<Record<string, Breach>> = {
  'every accepted run ends': 'lost',
  'what succeeded was done': 'lost',
  'a run succeeds once': 'repeated',
  'an execution starts its handler at most once': 'repeated',
  'a handler never starts while another execution of its run holds a lease': 'repeated',
};

/** Compares the records with the ledger, and with how many runs were accepted. Empty when all is well. */
export async function check(pool: pg.Pool, accepted: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [rule, query] of Object.entries(RULES)) {
    const { rows } = await pool.query<{ example: string }>(query);
    if (!rows[0]) continue;
    const breach = BREACHES[rule] ?? 'inconsistent';
    findings.push({ rule, breach, count: rows.length, example: rows[0].example });
  }
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::integer as count from millrace.runs',
  );
  const gone = accepted - (rows[0]?.count ?? 0);
  if (gone > 0) {
    const example = `${gone} of ${accepted}`;
    findings.push({ rule: 'every accepted run is there', breach: 'lost', count: gone, example });
  }
  return findings;
}
