import type { Logger } from 'pino';

import type { Registry } from '../authoring/registry.ts';
import type { JobDefinition } from '../contract/definition.ts';
import { readRunContext } from '../contract/run-context.ts';
import { decideEnding, type Ending, type Settled } from './decide-ending.ts';
import { describeError, type ErrorDescription } from './describe-error.ts';
import type { RunningExecution } from './execute-run.ts';
import { scrubDeep, secretsIn } from './scrub.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import type { RunMetrics } from './telemetry/run-metrics.ts';
import type { RunTransitions } from './transition-run.ts';

const MAX_RESULT_LENGTH = 16_384;

/** What ending an execution needs of a worker. */
export interface EndingTools {
  readonly registry: Pick<Registry, 'find'>;
  readonly transitions: Pick<RunTransitions, 'finish'>;
  readonly metrics: RunMetrics;
  readonly log: Logger;
}

/** A claimed run that is to end: `settled` is null if its handler did not end, or never started. */
export interface ToEnd {
  readonly claimed: ClaimedRun;
  readonly settled: Settled | null;
  /** Null if it never started. */
  readonly execution: RunningExecution | null;
}

const HANDED_BACK: Ending = {
  state: 'queued',
  outcome: 'handed_back',
  charged: false,
  delayMs: 0,
  endCode: null,
};

/** Writes how an execution ended and tells a failure, once: to the log, its span and the metrics. */
export async function endExecution(tools: EndingTools, toEnd: ToEnd): Promise<void> {
  const { claimed, settled, execution } = toEnd;
  const durationMs = execution ? performance.now() - execution.startedAt : null;
  const ending = endingOf(tools, toEnd);
  const error = settled ? endingError(settled, ending, claimed) : null;
  const result = settled ? endingResult(settled, ending, claimed, tools.log) : null;
  execution?.span?.end(ending.outcome, error);
  const told = execution?.scope.closeNotes();
  if (told) await told;

  const written = await tools.transitions
    .finish({ claimed, ending, error, result })
    .catch((refusal: unknown) => {
      // What the database will not store must not keep the run from ending. Its error may quote the row.
      const why = describeError(refusal, secretsIn(claimed.args));
      tools.log.error(
        { error: why, runId: claimed.id },
        'an ending was refused; it is written bare',
      );
      return tools.transitions.finish({ claimed, ending, error: null, result: null });
    });
  tellLog(tools.log, claimed, ending, written, error);
  if (written && execution && durationMs !== null) {
    tools.metrics.executionEnded({
      definition: claimed.definition,
      queue: execution.queue,
      outcome: ending.outcome,
      finishedAs: ending.delayMs === null ? ending.state : null,
      waitedMs: claimed.waited_ms,
      durationMs,
    });
  }
}

function endingOf({ registry }: EndingTools, { claimed, settled }: ToEnd): Ending {
  const { attempt, max_attempts: maxAttempts } = claimed;
  if (!settled) return { ...HANDED_BACK, state: attempt > 1 ? 'retrying' : 'queued' };
  const { retry } = registry.find(claimed.definition) as JobDefinition;
  return decideEnding(settled, { attempt, maxAttempts }, retry, Math.random());
}

function tellLog(
  log: Logger,
  claimed: ClaimedRun,
  ending: Ending,
  written: boolean,
  error: ErrorDescription | null,
): void {
  const failed = ending.outcome === 'failed' || ending.outcome === 'timed_out';
  if (written && !failed) return;
  const about = {
    runId: claimed.id,
    definition: claimed.definition,
    attempt: claimed.attempt,
    maxAttempts: claimed.max_attempts,
    execution: claimed.execution,
    requestId: readRunContext(claimed.context).requestId,
  };
  if (!written) {
    log.warn(about, 'the end of a run came too late: it had been given to another worker');
  } else {
    const level = ending.state === 'retrying' ? 'warn' : 'error';
    log[level]({ ...about, error, nextAttemptInMs: ending.delayMs }, `attempt ${ending.outcome}`);
  }
}

function endingError(
  settled: Settled,
  ending: Ending,
  claimed: ClaimedRun,
): ErrorDescription | null {
  const cause = settled.how === 'threw' ? settled.error : settled.value;
  const worthTelling = settled.how === 'threw' || cause instanceof Error;
  if (!worthTelling || ending.outcome === 'succeeded') return null;
  return describeError(cause, secretsIn(claimed.args));
}

/** What the handler returned, as plain data without any string of the arguments. */
function endingResult(settled: Settled, ending: Ending, claimed: ClaimedRun, log: Logger): unknown {
  if (settled.how !== 'returned' || settled.value === undefined || ending.outcome !== 'succeeded') {
    return null;
  }
  const text = toJson(settled.value);
  if (!text?.startsWith('{') || text.length > MAX_RESULT_LENGTH) {
    log.warn(
      { runId: claimed.id, definition: claimed.definition },
      `the result is dropped: it must be a plain object of at most ${MAX_RESULT_LENGTH} characters`,
    );
    return null;
  }
  return scrubDeep(JSON.parse(text), secretsIn(claimed.args));
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
