import { createSingleFlightWriter, type Write } from './single-flight-writer.ts';
import { claimExclusive, type ClaimedRun, claimRuns, recoverClaims } from './sql/claim-runs.ts';
import type { Delivery, TransitionOptions } from './delivery.ts';

const MAX_BATCH = 500;

/**
 * Returns the claim of one worker: grouped, and for exclusive runs, which the grouped statement leaves
 * out, one by one. A claim that is repeated first looks for what its lost answer may have said.
 */
export function createClaim(
  options: TransitionOptions,
  mayRetry: (error: unknown) => boolean,
): Write<Delivery, ClaimedRun | null> {
  const { pool, workerId, definitions, versions } = options;

  const claimTogether = createSingleFlightWriter<Delivery, ClaimedRun | null>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(deliveries, retry) {
      const sorted = deliveries.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
      const values = [
        sorted.map(({ runId }) => runId),
        sorted.map(({ ticket }) => ticket),
        workerId,
        definitions,
      ];
      const claimed = new Map<string, ClaimedRun>();
      const take = (rows: readonly ClaimedRun[]): void => {
        for (const row of rows) claimed.set(`${row.id} ${row.ticket}`, row);
      };
      if (retry) take((await pool.query<ClaimedRun>({ ...recoverClaims, values })).rows);
      const claim = { ...claimRuns, values: [...values, ...versions()] };
      take((await pool.query<ClaimedRun>(claim)).rows);
      return deliveries.map(({ runId, ticket }) => {
        const key = `${runId} ${ticket}`;
        const run = claimed.get(key) ?? null;
        // A ticket that a broken pool and its successor both delivered is one claim.
        claimed.delete(key);
        return run;
      });
    },
  });

  const claimAlone = createSingleFlightWriter<Delivery, ClaimedRun | null>({
    maxBatch: 1,
    mayRetry,
    async send(deliveries, retry) {
      const found: (ClaimedRun | null)[] = [];
      for (const { runId, ticket } of deliveries) {
        const recovered = retry
          ? await pool.query<ClaimedRun>({
              ...recoverClaims,
              values: [[runId], [ticket], workerId, definitions],
            })
          : { rows: [] };
        const claimed = await pool.query<ClaimedRun>({
          ...claimExclusive,
          values: [runId, ticket, workerId, definitions],
        });
        found.push(claimed.rows[0] ?? recovered.rows[0] ?? null);
      }
      return found;
    },
  });

  return async (delivery) => (await claimTogether(delivery)) ?? claimAlone(delivery);
}
