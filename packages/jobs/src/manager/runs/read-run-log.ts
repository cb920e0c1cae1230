import { z } from 'zod';

import { defineRead } from '../verb.ts';
import { cursorKey } from './cursor-key.ts';
import { findRun } from './find-run.ts';
import { sealedCursors } from './sealed-cursor.ts';
import { logAfter, logBefore, type LogLine } from './sql/get-run.ts';

/** Lines in the order in which they were written, and the cursors of what stands before and after them. */
export interface LogPage {
  readonly lines: readonly LogLine[];
  /** Null where there is nothing before. */
  readonly older: string | null;
  /** To be asked with again for what has been written since; null while there is no line. */
  readonly newer: string | null;
  /** Whether there is something after already. */
  readonly more: boolean;
}

const END = 2_147_483_647;

/**
 * What a run's handler logged, the latest lines unless a cursor says otherwise. Throws `job_not_found`
 * and `invalid_cursor`.
 */
export const readRunLog = defineRead({
  name: 'runs.log',
  permission: 'ops.jobs.read',
  input: z.strictObject({
    id: z.uuid(),
    cursor: z.string().max(100).optional(),
    limit: z.int().min(1).max(500).default(200),
  }),
  subject: ({ id }) => ({ kind: 'run', id }),
  async read({ pool, tx }, { id, cursor, limit }): Promise<LogPage> {
    await findRun(tx, id);
    const cursors = sealedCursors(await cursorKey(pool, tx), `log of ${id}`);
    const place = cursor === undefined ? `<${END}.${END}` : cursors.read(cursor);
    const [execution, seq] = place.slice(1).split('.').map(Number);
    const upward = place.startsWith('>');
    const { rows } = await tx.query<LogLine>({
      ...(upward ? logAfter : logBefore),
      values: [id, execution, seq, limit + 1],
    });
    const page = rows.slice(0, limit);
    const further = rows.length > limit;
    const lines = upward ? page : page.toReversed();
    const first = lines[0];
    const last = lines.at(-1);
    const at = (way: '<' | '>', line: LogLine): string =>
      cursors.write(`${way}${line.execution}.${line.seq}`);
    return {
      lines,
      older: first && (upward || further) ? at('<', first) : null,
      newer: last ? at('>', last) : (cursor ?? null),
      more: upward ? further : cursor !== undefined,
    };
  },
});
