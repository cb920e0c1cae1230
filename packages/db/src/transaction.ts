import type pg from 'pg';

export interface TransactionOptions {
  /** `read committed` unless given. */
  readonly mode?: 'read committed' | 'repeatable read read only';
  /** Limit of each of its statements, in milliseconds. */
  readonly statementTimeoutMs: number;
}

/**
 * Runs `work` in one transaction: committed with its answer, rolled back when it throws. A connection on
 * which even that fails is thrown away.
 */
export async function inTransaction<Answer>(
  pool: pg.Pool,
  { mode = 'read committed', statementTimeoutMs }: TransactionOptions,
  work: (tx: pg.PoolClient) => Promise<Answer>,
): Promise<Answer> {
  const tx = await pool.connect();
  let broken: Error | undefined;
  try {
    await tx.query(
      `begin isolation level ${mode}; set local statement_timeout = ${Math.round(statementTimeoutMs)}`,
    );
    const answer = await work(tx);
    await tx.query('commit');
    return answer;
  } catch (error) {
    await tx.query('rollback').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    tx.release(broken);
  }
}
