import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { definitionName } from './config-patch.ts';
import { type ChangeRow, listChanges as statement } from './sql/override.ts';

/** The versions of a definition's override, newest first; also of one that is no longer in the code. */
export const listChanges = defineRead({
  name: 'definitions.history',
  permission: 'ops.jobs.read',
  input: z.strictObject({
    name: definitionName,
    /** Only versions below this one. */
    before: z.int().min(1).optional(),
    limit: z.int().min(1).max(100).default(50),
  }),
  async read({ tx }, { name, before, limit }) {
    const { rows } = await tx.query<ChangeRow>({
      ...statement,
      values: [name, before ?? null, limit + 1],
    });
    const changes = rows.slice(0, limit);
    return { changes, before: rows.length > limit ? (changes.at(-1)?.version ?? null) : null };
  },
});
