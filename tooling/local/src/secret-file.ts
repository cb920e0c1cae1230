import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

import type { Account } from './postgres-account.ts';

/** The secret kept in this file; made on the first call. Only its owner can read it. */
export function readOrCreateSecret(path: string, owner: Account | null = null): string {
  const kept = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  if (kept.length >= 32) {
    chmodSync(path, 0o600);
    return kept;
  }
  const secret = randomBytes(24).toString('hex');
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
  if (owner) chownSync(path, owner.uid, owner.gid);
  return secret;
}
