import type { Logger } from 'pino';

import { snooze } from '../authoring/outcome.ts';
import type { Registry } from '../authoring/registry.ts';
import type { JobDefinition } from '../contract/definition.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { decideEnding, type Ending, type Settled } from './decide-ending.ts';
import { describeError, type ErrorDescription } from './describe-error.ts';
import type { ExecutionGate } from './execution-gate.ts';
import { type ExecutionTools, type RunningExecution, startExecution } from './execute-run.ts';
import { scrubDeep, secretsIn } from './scrub.ts';
import { Semaphore } from './semaphore.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import type { Delivery } from './delivery.ts';
import type { RunTransitions } from './transition-run.ts';

/** A run that this worker may not claim goes back for another worker after this long. */
const UNCLAIMED_DELAY_MS = 5_000;
const LOSSES_UNTIL_ALONE = 2;
/** A run that must be alone holds up its process for no longer, and tries again after a while. */
const BECOME_ALONE_MS = 5_000;
const ALONE_AGAIN_MS = { taken: 500, busy: 30_000 };
const MAX_RESULT_LENGTH = 16_384;

/** State that the queue runners of one worker process share. */
export interface WorkFloor {
  readonly registry: Registry;
  readonly transitions: RunTransitions;
  readonly tools: ExecutionTools;
  readonly log: Logger;
  readonly executions: Set<RunningExecution>;
  readonly gate: ExecutionGate;
  /** Of every queue: where runs wait for its strands and its window. */
  readonly strands: Set<Semaphore>;
  /** Set at shutdown: what was delivered but not started goes back. */
  stopping: boolean;
}

/** The permits of one queue in this process. */
interface QueueFloor {
  readonly window: Semaphore;
  readonly strands: Semaphore;
  readonly prefetch: number;
}

/**
 * What a queue does with a delivered ticket: a permit of its claim window, the claim, a permit of its
 * strands, the handler, the ending. The window admits up to twice as many runs as may execute, so that
 * the next claims travel while handlers run.
 */
export function createDeliveryWork(
  floor: WorkFloor,
  { concurrency, prefetch }: QueueSettings,
): (delivery: Delivery) => Promise<void> {
  const window = new Semaphore(concurrency + Math.min(prefetch, concurrency));
  const strands = new Semaphore(concurrency);
  floor.strands.add(strands).add(window);
  const queue: QueueFloor = { window, strands, prefetch };

  return async (delivery) => {
    if (window.exhausted || !(await window.acquire())) {
      await floor.transitions.renew(delivery, 0);
      // Every strand is kept by a handler that ignores its signal. The slot stays taken until one is
      // free: nothing more is fetched for it, and other workers get what waits.
      if (!floor.stopping && (await window.acquire())) window.release();
      return;
    }
    await floor.gate.enter();
    let inWindow = true;
    try {
      const claimed = floor.stopping ? null : await floor.transitions.claim(delivery);
      if (!claimed) {
        await floor.transitions.renew(delivery, floor.stopping ? 0 : UNCLAIMED_DELAY_MS);
        return;
      }
      const alone = claimed.losses >= LOSSES_UNTIL_ALONE;
      const settled = await (alone ? executeAlone(floor, claimed) : execute(floor, queue, claimed));
      window.release();
      inWindow = false;
      await endExecution(floor, claimed, settled);
    } finally {
      floor.gate.leave();
      if (inWindow) window.release();
    }
  };
}

/** How the run ended; null if it was not started and goes back. */
async function execute(
  floor: WorkFloor,
  { window, strands, prefetch }: QueueFloor,
  claimed: ClaimedRun,
): Promise<Settled | null> {
  if (window.overdrawn || !(await strands.acquire())) return null;
  if (floor.stopping || floor.gate.clearing) {
    strands.release();
    return null;
  }
  const execution = start(floor, claimed);
  floor.executions.add(execution);
  const strand = { kept: true };
  void execution.strand.then(() => {
    strand.kept = false;
    strands.release();
  });
  const settled = await execution.settled;
  floor.executions.delete(execution);
  if (strand.kept) {
    // A handler that ignores its signal: as long as it keeps its strand, nothing may be claimed for
    // that strand, and what waits for one goes back.
    const permits = prefetch > 0 ? 2 : 1;
    window.withdraw(permits);
    strands.dismiss();
    if (window.exhausted) window.dismiss();
    void execution.strand.then(() => window.restore(permits));
  }
  return settled;
}

/** What has lost two workers may be what killed them: nobody else shall go down with it. */
async function executeAlone(floor: WorkFloor, claimed: ClaimedRun): Promise<Settled | null> {
  const waiting = floor.gate.becomeAlone(BECOME_ALONE_MS);
  dismissWaiting(floor);
  const verdict = await waiting;
  if (verdict !== 'alone') return { how: 'returned', value: snooze(ALONE_AGAIN_MS[verdict]) };
  try {
    if (floor.stopping) return null;
    const execution = start(floor, claimed);
    floor.executions.add(execution);
    const settled = await execution.settled;
    floor.executions.delete(execution);
    return settled;
  } finally {
    floor.gate.endAlone();
  }
}

/**
 * Sends back what is claimed and waits for a strand. A handler that ignores its signal may never free
 * one, hence nobody may wait for that where the floor is to be cleared.
 */
export function dismissWaiting(floor: WorkFloor): void {
  for (const strands of floor.strands) strands.dismiss();
}

function start(floor: WorkFloor, claimed: ClaimedRun): RunningExecution {
  const definition = floor.registry.definitions.get(claimed.definition);
  const { loadHandler } = floor.registry;
  if (definition?.form !== 'queued' || !loadHandler) {
    throw new Error(`a run of ${claimed.definition} was claimed, which this worker does not know`);
  }
  return startExecution(claimed, definition, () => loadHandler(definition.name), floor.tools);
}

const NOT_STARTED: Ending = {
  state: 'queued',
  outcome: 'handed_back',
  charged: false,
  delayMs: 0,
  endCode: null,
};

/** Writes how an execution ended and logs a failure, once. `settled` is null if it never started. */
export async function endExecution(
  floor: WorkFloor,
  claimed: ClaimedRun,
  settled: Settled | null,
): Promise<void> {
  const definition = floor.registry.definitions.get(claimed.definition) as JobDefinition;
  const attempt = { attempt: claimed.attempt, maxAttempts: claimed.max_attempts };
  const ending = settled
    ? decideEnding(settled, attempt, definition.retry, Math.random())
    : { ...NOT_STARTED, state: claimed.attempt > 1 ? ('retrying' as const) : ('queued' as const) };
  const error = settled ? endingError(settled, ending, claimed) : null;
  const result = settled ? endingResult(settled, ending, claimed, floor.log) : null;

  const written = await floor.transitions
    .finish({ claimed, ending, error, result })
    .catch((refusal: unknown) => {
      // What the database will not store must not keep the run from ending.
      floor.log.error(
        { err: refusal, runId: claimed.id },
        'an ending was refused; it is written bare',
      );
      return floor.transitions.finish({ claimed, ending, error: null, result: null });
    });
  const about = {
    runId: claimed.id,
    definition: claimed.definition,
    attempt: claimed.attempt,
    maxAttempts: claimed.max_attempts,
  };
  if (!written) {
    floor.log.warn(about, 'the end of a run came too late: it had been given to another worker');
  } else if (ending.outcome === 'failed' || ending.outcome === 'timed_out') {
    const level = ending.state === 'retrying' ? 'warn' : 'error';
    floor.log[level](
      { ...about, error, nextAttemptInMs: ending.delayMs },
      `attempt ${ending.outcome}`,
    );
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
