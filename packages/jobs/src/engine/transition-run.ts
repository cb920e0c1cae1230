import { createClaim } from './claim-run.ts';
import type { Delivery, TransitionOptions } from './delivery.ts';
import { createFinish, type EndedExecution } from './finish-execution.ts';
import { createSingleFlightWriter, isTransientError } from './single-flight-writer.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import { renewTickets } from './sql/renew-tickets.ts';

/** The only writer of a run's state in a worker process. Every method may be called concurrently. */
export interface RunTransitions {
  /**
   * `queued | retrying → running`; null when the ticket is stale, this worker cannot run the run, or
   * another run of its definition is running and both are exclusive.
   */
  claim(delivery: Delivery): Promise<ClaimedRun | null>;
  /** `running → ` the ending's state; false when this worker had lost the run. */
  finish(ended: EndedExecution): Promise<boolean>;
  /** A new ticket for a run that stays as it is; see `sql/renew-tickets.ts`. */
  renew(delivery: Delivery, delayMs: number): Promise<void>;
}

const MAX_BATCH = 500;

export function createRunTransitions(options: TransitionOptions): RunTransitions {
  // A claim or an ending whose answer was lost may have been written: only a repetition can tell, so
  // it goes on until the database answers or the lease is gone.
  const mayRetry = (error: unknown): boolean => {
    const again = isTransientError(error) && options.holdsLease();
    if (again) options.log.warn({ err: error }, 'a write failed; it is repeated');
    return again;
  };
  const renew = createSingleFlightWriter<Delivery & { delayMs: number }, undefined>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(deliveries) {
      const sorted = deliveries.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
      const values = [
        sorted.map(({ runId }) => runId),
        sorted.map(({ ticket }) => ticket),
        sorted.map(({ delayMs }) => delayMs),
      ];
      await options.pool.query({ ...renewTickets, values });
      return deliveries.map(() => undefined);
    },
  });
  return {
    claim: createClaim(options, mayRetry),
    finish: createFinish(options, mayRetry),
    renew: (delivery, delayMs) => renew({ ...delivery, delayMs }),
  };
}
