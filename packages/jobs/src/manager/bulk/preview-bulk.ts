import { defineRead } from '../verb.ts';
import { BULK_LIMIT, bulkTarget, checkTarget, statesOf } from './bulk-request.ts';
import { orTooSlow } from './or-too-slow.ts';
import { countMatching, type MatchingCounts } from './sql/matching-runs.ts';

/** What a bulk action would find if it started now. */
export interface BulkPreview {
  /** Runs that match; with `more` at least that many, which is more than an action takes. */
  readonly total: number;
  readonly more: boolean;
  /** Of them, those that it would skip as they are now, by code. Runs may change until their turn. */
  readonly skips: Readonly<Record<string, number>>;
}

/** Counts the runs of a filter, exactly up to {@link BULK_LIMIT}, and changes nothing. */
export const previewBulk = defineRead({
  name: 'bulk.preview',
  permission: 'ops.jobs.run',
  input: bulkTarget.superRefine(checkTarget),
  async read({ tx }, target): Promise<BulkPreview> {
    const statement = countMatching(target.filter, statesOf(target), BULK_LIMIT + 1);
    const { rows } = await orTooSlow(
      tx.query<MatchingCounts>(statement.text, [...statement.values]),
    );
    const { total, ...skips } = rows[0] ?? { total: 0 };
    return {
      total: Math.min(total, BULK_LIMIT),
      more: total > BULK_LIMIT,
      skips: Object.fromEntries(Object.entries(skips).filter(([, count]) => count > 0)),
    };
  },
});
