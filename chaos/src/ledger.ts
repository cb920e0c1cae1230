import type { Db } from '@millrace/db/client';
import type pg from 'pg';

/** What handlers themselves say they did: independent of the records that are checked against it. */
export async function createLedger(pool: pg.Pool): Promise<void> {
  await pool.query(`
    create table if not exists public.ledger (
      run_id uuid not null,
      execution integer not null,
      pid integer not null,
      faulty boolean not null,
      started_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz
    );
    create index if not exists ledger_run on public.ledger (run_id, execution);
    create index if not exists ledger_started_at on public.ledger (started_at);
    truncate public.ledger`);
}

export interface LedgerEntry {
  readonly runId: string;
  readonly execution: number;
  /** Whether this execution is about to misbehave. */
  readonly faulty: boolean;
}

export async function startInLedger(db: Db, entry: LedgerEntry): Promise<void> {
  await db.$executeRaw`insert into public.ledger (run_id, execution, pid, faulty)
                       values (${entry.runId}::uuid, ${entry.execution}, ${process.pid}, ${entry.faulty})`;
}

export async function endInLedger(db: Db, { runId, execution }: LedgerEntry): Promise<void> {
  await db.$executeRaw`update public.ledger set ended_at = clock_timestamp()
                        where run_id = ${runId}::uuid and execution = ${execution} and pid = ${process.pid}`;
}
