import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { type Permission, PERMISSIONS } from '../../contract/permission.ts';
import { defineWrite } from '../verb.ts';
import { insertToken, type TokenRow } from './sql/tokens.ts';
import { newTokenSecret, tokenDigest } from './token-secret.ts';

/** The longest that a token lives. */
const MAX_DAYS = 366;

/**
 * Creates an API token with some of its creator's permissions. `secret` is answered this once and kept
 * nowhere. Throws `forbidden` for a permission that the creator lacks.
 */
export const createToken = defineWrite({
  name: 'tokens.create',
  permission: 'ops.admin',
  input: z.strictObject({
    label: z.string().trim().min(1).max(100),
    permissions: z
      .array(z.enum(Object.keys(PERMISSIONS) as [Permission, ...Permission[]]))
      .min(1)
      .max(10),
    /** How long it is valid. */
    days: z.int().min(1).max(MAX_DAYS).default(90),
  }),
  async write({ tx, actor }, { label, permissions: wanted, days }) {
    const permissions = [...new Set(wanted)];
    const beyond = permissions.find((each) => !actor.permissions.includes(each));
    if (beyond) {
      throw new JobError('forbidden', `A token gives no more than its creator has: ${beyond}.`, {
        details: { permission: beyond },
      });
    }
    const secret = newTokenSecret();
    const { rows } = await tx.query<TokenRow>({
      ...insertToken,
      values: [label, tokenDigest(secret), permissions, days, actor.label],
    });
    const token = rows[0];
    if (!token) throw new Error('the token was not created');
    return {
      output: { ...token, secret },
      audit: {
        action: 'admin.token.created',
        subject: { kind: 'token', id: token.id },
        detail: { label, permissions, expiresAt: token.expiresAt.toISOString() },
      },
    };
  },
});
