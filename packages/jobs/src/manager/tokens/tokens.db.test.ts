import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { managerContext } from '../../testing/manager-context.ts';
import { authenticateToken } from './authenticate-token.ts';
import { createToken } from './create-token.ts';
import { listTokens } from './list-tokens.ts';
import { revokeToken } from './revoke-token.ts';

const database = useDatabase();
const admin = () => managerContext(database, 'admin', 'Ada');
const input = { label: 'ci', permissions: ['ops.jobs.read', 'ops.jobs.run'] as const };
const create = (days = 1) =>
  createToken(admin(), { ...input, permissions: [...input.permissions], days });

const audited = async () =>
  (await database.db.auditEvent.findMany({ orderBy: { id: 'asc' } })).map(
    ({ action, outcome, subject }) => [action, outcome, subject],
  );

describe('createToken', () => {
  it('tells the token once and keeps only its digest', async () => {
    const { id, secret } = await create();
    expect(secret).toMatch(/^millrace_[\w-]{43}$/);
    expect(await authenticateToken(database.pool, secret)).toEqual({
      kind: 'token',
      id,
      label: 'ci',
      orgId: null,
      permissions: ['ops.jobs.read', 'ops.jobs.run'],
    });
    const { rows } = await database.pool.query<{ text: string }>(
      `select t::text as text from millrace.api_tokens t
        union all select a::text from millrace.audit_events a`,
    );
    expect(rows).toHaveLength(2);
    expect(JSON.stringify([rows, await listTokens(admin(), {})])).not.toContain(secret.slice(9));
    expect(await audited()).toEqual([['admin.token.created', 'done', id]]);
  });

  it('gives no more than its creator has', async () => {
    const context = admin();
    const lesser = { ...context, actor: { ...context.actor, permissions: ['ops.admin'] as const } };
    await expect(
      createToken(lesser, { label: 'x', permissions: ['ops.admin', 'ops.jobs.write'] }),
    ).rejects.toMatchObject({ code: 'forbidden', details: { permission: 'ops.jobs.write' } });
    expect(await database.db.apiToken.count()).toBe(0);
  });

  it.each([
    [{ ...input, permissions: [] }],
    [{ ...input, permissions: ['ops.everything'] }],
    [{ ...input, label: ' ' }],
    [{ ...input, days: 0 }],
    [{ ...input, days: 367 }],
  ])('refuses %j', async (wrong) => {
    await expect(createToken(admin(), wrong as never)).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

describe('authenticateToken', () => {
  it.each(['', 'x', 'millrace_', `millrace_${'A'.repeat(43)}`, '\u{1f600}'])(
    'knows no %j',
    async (secret) => {
      await create();
      expect(await authenticateToken(database.pool, secret)).toBeNull();
    },
  );

  it('refuses an expired one', async () => {
    const { id, secret } = await create();
    await database.pool.query(
      `update millrace.api_tokens set created_at = now() - interval '2 d', expires_at = now() where id = $1`,
      [id],
    );
    expect(await authenticateToken(database.pool, secret)).toBeNull();
  });

  it('notes its use once a minute', async () => {
    const { id, secret } = await create();
    const usedAt = async () =>
      (await database.db.apiToken.findUnique({ where: { id } }))?.lastUsedAt;
    expect(await usedAt()).toBeNull();
    await authenticateToken(database.pool, secret);
    const first = await usedAt();
    expect(first).toBeInstanceOf(Date);
    await authenticateToken(database.pool, secret);
    expect(await usedAt()).toEqual(first);
  });
});

describe('revokeToken', () => {
  it('ends it at once, once', async () => {
    const { id, secret } = await create();
    await revokeToken(admin(), { id, reason: 'leaked' });
    expect(await authenticateToken(database.pool, secret)).toBeNull();
    await revokeToken(admin(), { id });
    expect((await listTokens(admin(), {})).tokens).toMatchObject([{ id, revokedBy: 'Ada' }]);
    expect(await audited()).toEqual([
      ['admin.token.created', 'done', id],
      ['admin.token.revoked', 'done', id],
    ]);
    const unknown = { id: '01900000-0000-7000-8000-000000000001' };
    await expect(revokeToken(admin(), unknown)).rejects.toMatchObject({ code: 'token_not_found' });
  });
});
