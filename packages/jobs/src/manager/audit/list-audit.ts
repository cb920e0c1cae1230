import { z } from 'zod';

import { instant } from '../definitions/config-patch.ts';
import { cursorKey } from '../runs/cursor-key.ts';
import { sealedCursors } from '../runs/sealed-cursor.ts';
import { defineRead } from '../verb.ts';
import { type AuditRow, listAudit as statement } from './sql/audit.ts';

const text = z.string().min(1).max(200);

const auditFilter = z
  .strictObject({
    action: text,
    outcome: z.enum(['done', 'denied']),
    actorId: text,
    subjectKind: text,
    subject: text,
    /** At this instant or later. */
    from: instant,
    /** Before this instant. */
    to: instant,
  })
  .partial();

/** A page of the audit, and the cursor of the page with older events; null on the last one. */
export interface AuditPage {
  readonly events: readonly AuditRow[];
  readonly older: string | null;
}

/** Who did what and why, the latest first; denied calls too. Throws `invalid_cursor`. */
export const listAudit = defineRead({
  name: 'audit.list',
  permission: 'ops.jobs.read',
  input: z
    .strictObject({
      filter: auditFilter.default({}),
      limit: z.int().min(1).max(500).default(50),
      cursor: z.string().max(200).optional(),
    })
    .prefault({}),
  async read({ pool, tx }, { filter, limit, cursor }): Promise<AuditPage> {
    const key = await cursorKey(pool, tx);
    const cursors = sealedCursors(
      key,
      `audit ${JSON.stringify(Object.entries(filter).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`,
    );
    const below = cursor === undefined ? undefined : cursors.read(cursor);
    const { rows } = await tx.query<AuditRow>(statement({ ...filter, below }, limit + 1));
    const events = rows.slice(0, limit);
    const last = events.at(-1);
    return { events, older: last && rows.length > limit ? cursors.write(last.id) : null };
  },
});
