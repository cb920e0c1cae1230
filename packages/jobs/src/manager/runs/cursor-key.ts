import { createHash } from 'node:crypto';

import type pg from 'pg';

import { installationId } from './sql/installation-id.ts';

const keys = new WeakMap<pg.Pool, Buffer>();

/**
 * The key of cursors: derived from the random id under which the installation's first migration is
 * recorded. So every process has the same one without being told, and a link outlives a restart.
 */
export async function cursorKey(pool: pg.Pool, tx: pg.PoolClient): Promise<Buffer> {
  const known = keys.get(pool);
  if (known) return known;
  const { rows } = await tx.query<{ id: string }>(installationId);
  if (!rows[0]) throw new Error('the database has no migrations');
  const key = createHash('sha256').update(`millrace cursors ${rows[0].id}`).digest();
  keys.set(pool, key);
  return key;
}
