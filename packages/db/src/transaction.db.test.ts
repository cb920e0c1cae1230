import { describe, expect, it } from 'vitest';

import { useDatabase } from './testing.ts';
import { inTransaction } from './transaction.ts';

const limit = { statementTimeoutMs: 200 };
const insert = `insert into millrace.audit_events
  (action, outcome, actor_kind, actor_id, actor_label, subject_kind, subject, request_id)
  values ('test.done', 'done', 'system', '1', 'test', 'verb', 'x', '1')`;

describe('inTransaction', () => {
  const database = useDatabase({ poolSize: 1 });
  const count = () => database.db.auditEvent.count();

  it('commits with its answer', async () => {
    expect(await inTransaction(database.pool, limit, (tx) => tx.query(insert))).toMatchObject({
      rowCount: 1,
    });
    expect(await count()).toBe(1);
  });

  it('rolls back what throws, and gives the connection back', async () => {
    const failing = inTransaction(database.pool, limit, async (tx) => {
      await tx.query(insert);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await count()).toBe(0);
  });

  it('ends a statement at its limit and a reading one at its first write', async () => {
    const slow = inTransaction(database.pool, limit, (tx) => tx.query('select pg_sleep(5)'));
    await expect(slow).rejects.toMatchObject({ code: '57014' });
    const reading = { ...limit, mode: 'repeatable read read only' } as const;
    const writing = inTransaction(database.pool, reading, (tx) => tx.query(insert));
    await expect(writing).rejects.toMatchObject({ code: '25006' });
  });

  it('replaces a connection that broke', async () => {
    const broken = inTransaction(database.pool, limit, (tx) =>
      tx.query('select pg_terminate_backend(pg_backend_pid())'),
    );
    await expect(broken).rejects.toThrow(/terminat/);
    expect(await inTransaction(database.pool, limit, () => Promise.resolve(1))).toBe(1);
  });
});
