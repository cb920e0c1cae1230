import type { Ending } from './decide-ending.ts';
import type { ErrorDescription } from './describe-error.ts';
import { createSingleFlightWriter, type Write } from './single-flight-writer.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import { endedExecutions, finishExecutions } from './sql/finish-executions.ts';
import type { TransitionOptions } from './delivery.ts';

export interface EndedExecution {
  readonly claimed: ClaimedRun;
  readonly ending: Ending;
  readonly error: ErrorDescription | null;
  readonly result: unknown;
}

const MAX_BATCH = 500;

/**
 * Returns the grouped writer of endings: false for an execution that this worker no longer held. An
 * ending that is repeated and turns out to have been written counts as written.
 */
export function createFinish(
  { pool, workerId }: TransitionOptions,
  mayRetry: (error: unknown) => boolean,
): Write<EndedExecution, boolean> {
  return createSingleFlightWriter<EndedExecution, boolean>({
    maxBatch: MAX_BATCH,
    mayRetry,
    async send(endings) {
      const sorted = endings.toSorted((a, b) => (a.claimed.id < b.claimed.id ? -1 : 1));
      const values = finishValues(sorted, workerId);
      const { rowCount } = await pool.query({ ...finishExecutions, values });
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
}

/** The parameters of {@link finishExecutions}. */
function finishValues(sorted: readonly EndedExecution[], workerId: string): unknown[] {
  return [
    sorted.map(({ claimed }) => claimed.id),
    sorted.map(({ claimed }) => claimed.ticket),
    sorted.map(({ claimed }) => claimed.execution),
    sorted.map(({ ending }) => ending.state),
    sorted.map(({ ending }) => ending.outcome),
    sorted.map(({ ending }) => ending.charged),
    sorted.map(({ ending }) => ending.delayMs),
    sorted.map(({ ending }) => ending.endCode),
    sorted.map(({ error }) => json(error)),
    sorted.map(({ result }) => json(result)),
    sorted.map(({ claimed }) => claimed.waited_ms),
    workerId,
  ];
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
