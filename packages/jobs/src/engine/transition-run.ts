import type { Logger } from 'pino';
import type pg from 'pg';

import type { Ending } from './decide-ending.ts';
import type { ErrorDescription } from './describe-error.ts';
import { createSingleFlightWriter, isTransientError } from './single-flight-writer.ts';
import { claimExclusive, type ClaimedRun, claimRuns, recoverClaims } from './sql/claim-runs.ts';
import { endedExecutions, finishExecutions } from './sql/finish-executions.ts';
import { renewTickets } from './sql/renew-tickets.ts';

/** A run and the ticket by which graphile-worker delivered it. */
export interface Delivery {
  readonly runId: string;
  readonly ticket: string;
}

export interface EndedExecution {
  readonly claimed: ClaimedRun;
  readonly ending: Ending;
  readonly error: ErrorDescription | null;
  readonly result: unknown;
}

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

interface TransitionOptions {
  readonly pool: pg.Pool;
  readonly workerId: string;
  readonly definitions: readonly string[];
  readonly log: Logger;
  /** Whether this worker still holds its lease: without it, a failing write is given up. */
  readonly holdsLease: () => boolean;
}

const MAX_BATCH = 500;

export function createRunTransitions(options: TransitionOptions): RunTransitions {
  const { pool, workerId, log } = options;

  // A claim or an ending whose answer was lost may have been written: only a repetition can tell, so
  // it goes on until the database answers or the lease is gone.
  const mayRetry = (error: unknown, failingForMs: number): boolean => {
    const again = isTransientError(error) && options.holdsLease();
    if (again) log.warn({ err: error, failingForMs }, 'a write failed; it is repeated');
    return again;
  };

  const claim = createSingleFlightWriter<Delivery, ClaimedRun | null>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(deliveries, retry) {
      const sorted = deliveries.toSorted(byRun);
      const values = [
        sorted.map((delivery) => delivery.runId),
        sorted.map((delivery) => delivery.ticket),
        workerId,
        options.definitions,
      ];
      const claimed = new Map<string, ClaimedRun>();
      const take = (rows: readonly ClaimedRun[]): void => {
        for (const row of rows) claimed.set(`${row.id} ${row.ticket}`, row);
      };
      if (retry) take((await pool.query<ClaimedRun>({ ...recoverClaims, values })).rows);
      take((await pool.query<ClaimedRun>({ ...claimRuns, values })).rows);
      return deliveries.map(({ runId, ticket }) => claimed.get(`${runId} ${ticket}`) ?? null);
    },
  });

  const claimAlone = createSingleFlightWriter<Delivery, ClaimedRun | null>({
    maxBatch: 1,
    mayRetry,
    async send([delivery], retry) {
      if (!delivery) return [];
      const { runId, ticket } = delivery;
      if (retry) {
        const values = [[runId], [ticket], workerId, options.definitions];
        const { rows } = await pool.query<ClaimedRun>({ ...recoverClaims, values });
        if (rows[0]) return [rows[0]];
      }
      const values = [runId, ticket, workerId, options.definitions];
      const { rows } = await pool.query<ClaimedRun>({ ...claimExclusive, values });
      return [rows[0] ?? null];
    },
  });

  const finish = createSingleFlightWriter<EndedExecution, boolean>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(endings) {
      const sorted = endings.toSorted((a, b) => (a.claimed.id < b.claimed.id ? -1 : 1));
      const { rowCount } = await pool.query({ ...finishExecutions, values: finishValues(sorted, workerId) });
      if (rowCount === endings.length) return endings.map(() => true);
      const { rows } = await pool.query<{ run_id: string; execution: number }>({
        ...endedExecutions,
        values: [
          sorted.map(({ claimed }) => claimed.id),
          sorted.map(({ claimed }) => claimed.execution),
          workerId,
        ],
      });
      const done = new Set(rows.map((row) => `${row.run_id} ${row.execution}`));
      return endings.map(({ claimed }) => done.has(`${claimed.id} ${claimed.execution}`));
    },
  });

  const renew = createSingleFlightWriter<Delivery & { delayMs: number }, undefined>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(deliveries) {
      const sorted = deliveries.toSorted(byRun);
      await pool.query({
        ...renewTickets,
        values: [
          sorted.map((delivery) => delivery.runId),
          sorted.map((delivery) => delivery.ticket),
          sorted.map((delivery) => delivery.delayMs),
        ],
      });
      return deliveries.map(() => undefined);
    },
  });

  return {
    claim: async (delivery) => (await claim(delivery)) ?? claimAlone(delivery),
    finish,
    renew: (delivery, delayMs) => renew({ ...delivery, delayMs }),
  };
}

function byRun(a: Delivery, b: Delivery): number {
  return a.runId < b.runId ? -1 : 1;
}

function finishValues(sorted: readonly EndedExecution[], workerId: string): unknown[] {
  const column = <Value>(value: (ended: EndedExecution) => Value): Value[] => sorted.map(value);
  const json = (value: unknown): string | null =>
    value === null || value === undefined ? null : JSON.stringify(value);
  return [
    column(({ claimed }) => claimed.id),
    column(({ claimed }) => claimed.ticket),
    column(({ claimed }) => claimed.execution),
    column(({ ending }) => ending.state),
    column(({ ending }) => ending.outcome),
    column(({ ending }) => ending.charged),
    column(({ ending }) => ending.delayMs),
    column(({ ending }) => ending.endCode),
    column(({ error }) => json(error)),
    column(({ result }) => json(result)),
    column(({ claimed }) => claimed.waited_ms),
    workerId,
  ];
}
