import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { listTokens as statement, type TokenRow } from './sql/tokens.ts';

/** The API tokens, the latest first, those that are revoked or expired too; without the tokens themselves. */
export const listTokens = defineRead({
  name: 'tokens.list',
  permission: 'ops.admin',
  input: z.strictObject({ limit: z.int().min(1).max(500).default(100) }).prefault({}),
  async read({ tx }, { limit }) {
    const { rows } = await tx.query<TokenRow>({ ...statement, values: [limit] });
    return { tokens: rows };
  },
});
