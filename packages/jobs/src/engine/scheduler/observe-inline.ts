import type pg from 'pg';
import type { Logger } from 'pino';

import type { ExecutionOutcome, RunState } from '../../contract/run-state.ts';
import { readRunContext, type RunContext } from '../../contract/run-context.ts';
import { ExecutionNotes } from '../context/execution-notes.ts';
import { createNotesWriter } from '../context/notes-writer.ts';
import type { ErrorDescription } from '../describe-error.ts';
import { runMetrics } from '../telemetry/run-metrics.ts';
import { startRunSpan } from '../telemetry/run-span.ts';

/** Stands for the queue of inline runs, which wait in none. */
const INLINE = 'inline';

type InlineOutcome = Extract<ExecutionOutcome, RunState | 'timed_out'>;

/** What is told of one call of an inline job: log lines, a span, figures. */
export interface InlineObservation {
  readonly log: Logger;
  /** Calls it within the span. */
  run<Result>(call: () => Result): Result;
  /** Resolves when the log lines are stored, or after a while. */
  end(outcome: InlineOutcome, error: ErrorDescription | null): Promise<void>;
}

/** Returns what makes an observation of each call that begins. */
export function createInlineObserver(tools: {
  readonly pool: pg.Pool;
  readonly log: Logger;
}): (definition: string, runId: string, context: RunContext) => InlineObservation {
  const writer = createNotesWriter(tools);
  const metrics = runMetrics();

  return (definition, runId, given) => {
    const context = readRunContext(given);
    const startedAt = performance.now();
    const about = { definition, execution: 1, attempt: 1 };
    const notes = new ExecutionNotes(
      { ...about, runId, requestId: context.requestId },
      { log: tools.log, notes: writer },
      // An inline job has no arguments.
      () => [],
    );
    const subject = { ...about, id: runId, trigger: 'scheduler', waited_ms: 0 } as const;
    const span = startRunSpan(subject, INLINE, { context });
    return {
      log: notes.log,
      run: (call) => (span ? span.run(call) : call()),
      end(outcome, error) {
        span?.end(outcome, error);
        metrics.executionEnded({
          definition,
          queue: INLINE,
          outcome,
          finishedAs: outcome === 'timed_out' ? 'failed' : outcome,
          waitedMs: 0,
          durationMs: performance.now() - startedAt,
        });
        return notes.close();
      },
    };
  };
}
