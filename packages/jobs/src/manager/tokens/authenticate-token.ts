import type pg from 'pg';

import type { Caller } from '../../contract/caller.ts';
import type { Permission } from '../../contract/permission.ts';
import { findToken } from './sql/tokens.ts';
import { tokenDigest } from './token-secret.ts';

/** Who calls with this API token; null for one that is unknown, expired or revoked. */
export async function authenticateToken(pool: pg.Pool, secret: string): Promise<Caller | null> {
  const { rows } = await pool.query<{ id: string; label: string; permissions: Permission[] }>({
    ...findToken,
    values: [tokenDigest(secret)],
  });
  const token = rows[0];
  if (!token) return null;
  return { kind: 'token', orgId: null, ...token };
}
