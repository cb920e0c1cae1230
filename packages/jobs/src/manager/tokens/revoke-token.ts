import { z } from 'zod';

import { JobError } from '../../contract/errors.ts';
import { reason } from '../definitions/config-patch.ts';
import { defineWrite } from '../verb.ts';
import { revokeToken as statement } from './sql/tokens.ts';

/** Ends an API token at once, for good; to do it again changes nothing. Throws `token_not_found`. */
export const revokeToken = defineWrite({
  name: 'tokens.revoke',
  permission: 'ops.admin',
  input: z.strictObject({ id: z.uuid(), reason: reason.optional() }),
  subject: ({ id }) => ({ kind: 'token', id }),
  async write({ tx, actor }, { id, reason: why }) {
    const { rows } = await tx.query<{ label: string; changed: boolean }>({
      ...statement,
      values: [id, actor.label],
    });
    const token = rows[0];
    if (!token) throw new JobError('token_not_found', `There is no API token ${id}.`);
    return {
      output: { id, revoked: true },
      audit: token.changed
        ? {
            action: 'admin.token.revoked',
            subject: { kind: 'token', id },
            reason: why ?? null,
            detail: { label: token.label },
          }
        : null,
    };
  },
});
