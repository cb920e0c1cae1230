import type { Logger } from 'pino';

import { snooze } from '../authoring/outcome.ts';
import type { ErasedHandler, Registry } from '../authoring/registry.ts';
import type { ControlState } from './control/control-state.ts';
import type { QueueSettings } from '../contract/queue.ts';
import { endExecution, type ToEnd } from './end-execution.ts';
import type { ExecutionGate } from './execution-gate.ts';
import type { ExecutionTools } from './context/execution-scope.ts';
import { type RunningExecution, startExecution } from './execute-run.ts';
import { Semaphore } from './semaphore.ts';
import type { ClaimedRun } from './sql/claim-runs.ts';
import type { Delivery } from './delivery.ts';
import type { RunMetrics } from './telemetry/run-metrics.ts';
import type { RunTransitions } from './transition-run.ts';

/** A run that this worker may not claim goes back for another worker after this long. */
const UNCLAIMED_DELAY_MS = 5_000;
const LOSSES_UNTIL_ALONE = 2;
/** A run that must be alone holds up its process for no longer, and tries again after a while. */
const BECOME_ALONE_MS = 5_000;
const ALONE_AGAIN_MS = { taken: 500, busy: 30_000 };

/** State that the queue runners of one worker process share. */
export interface WorkFloor {
  readonly registry: Registry;
  readonly transitions: RunTransitions;
  readonly tools: ExecutionTools;
  readonly log: Logger;
  /** What operators have set. */
  readonly control: ControlState;
  readonly metrics: RunMetrics;
  readonly executions: Set<RunningExecution>;
  /** By queue. */
  readonly load: Map<string, QueueLoad>;
  readonly gate: ExecutionGate;
  /** Of every queue: where runs wait for its strands and its window. */
  readonly strands: Set<Semaphore>;
  /** Set at shutdown: what was delivered but not started goes back. */
  stopping: boolean;
}

/** What this process has of one queue. */
export interface QueueLoad {
  /** Runs between claim and end, those that are running included. */
  claimed: number;
  running: number;
}

/** The permits of one queue in this process. */
interface QueueFloor {
  readonly name: string;
  readonly load: QueueLoad;
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
  name: string,
  { concurrency, prefetch }: QueueSettings,
): (delivery: Delivery) => Promise<void> {
  const window = new Semaphore(concurrency + Math.min(prefetch, concurrency));
  const strands = new Semaphore(concurrency);
  floor.strands.add(strands).add(window);
  const load = { claimed: 0, running: 0 };
  floor.load.set(name, load);
  const queue: QueueFloor = { name, load, window, strands, prefetch };

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
        // Perhaps its queue has just been paused.
        if (!floor.stopping) void floor.control.refresh();
        await floor.transitions.renew(delivery, floor.stopping ? 0 : UNCLAIMED_DELAY_MS);
        return;
      }
      load.claimed++;
      try {
        const alone = claimed.losses >= LOSSES_UNTIL_ALONE;
        const toEnd = await (alone ? executeAlone : execute)(floor, queue, claimed);
        window.release();
        inWindow = false;
        await endExecution(floor, toEnd);
      } finally {
        load.claimed--;
      }
    } finally {
      floor.gate.leave();
      if (inWindow) window.release();
    }
  };
}

/** How the run ended, unless it was not started and goes back. */
async function execute(floor: WorkFloor, queue: QueueFloor, claimed: ClaimedRun): Promise<ToEnd> {
  const { window, strands, prefetch } = queue;
  if (window.overdrawn || !(await strands.acquire())) return notStarted(claimed);
  if (floor.stopping || floor.gate.clearing) {
    strands.release();
    return notStarted(claimed);
  }
  const execution = start(floor, queue, claimed);
  const strand = { kept: true };
  void execution.strand.then(() => {
    strand.kept = false;
    strands.release();
  });
  const toEnd = await untilSettled(floor, queue, execution);
  if (strand.kept) {
    // A handler that ignores its signal: as long as it keeps its strand, nothing may be claimed for
    // that strand, and what waits for one goes back.
    const permits = prefetch > 0 ? 2 : 1;
    window.withdraw(permits);
    strands.dismiss();
    if (window.exhausted) window.dismiss();
    void execution.strand.then(() => window.restore(permits));
  }
  return toEnd;
}

function notStarted(claimed: ClaimedRun): ToEnd {
  return { claimed, settled: null, execution: null };
}

async function untilSettled(
  floor: WorkFloor,
  { load }: QueueFloor,
  execution: RunningExecution,
): Promise<ToEnd> {
  floor.executions.add(execution);
  load.running++;
  const settled = await execution.settled;
  load.running--;
  floor.executions.delete(execution);
  return { claimed: execution.claimed, settled, execution };
}

/** What has lost two workers may be what killed them: nobody else shall go down with it. */
async function executeAlone(
  floor: WorkFloor,
  queue: QueueFloor,
  claimed: ClaimedRun,
): Promise<ToEnd> {
  const waiting = floor.gate.becomeAlone(BECOME_ALONE_MS);
  dismissWaiting(floor);
  const verdict = await waiting;
  if (verdict !== 'alone') {
    const later = snooze(ALONE_AGAIN_MS[verdict]);
    return { ...notStarted(claimed), settled: { how: 'returned', value: later } };
  }
  try {
    if (floor.stopping) return notStarted(claimed);
    return await untilSettled(floor, queue, start(floor, queue, claimed));
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

function start(floor: WorkFloor, queue: QueueFloor, claimed: ClaimedRun): RunningExecution {
  const definition = floor.registry.find(claimed.definition);
  const { loadHandler } = floor.registry;
  if (definition?.form !== 'queued' || !loadHandler) {
    throw new Error(`a run of ${claimed.definition} was claimed, which this worker does not know`);
  }
  const timeoutMs = floor.control.timeoutMs(definition);
  const effective = timeoutMs === definition.timeoutMs ? definition : { ...definition, timeoutMs };
  const load = (): Promise<ErasedHandler> => loadHandler(definition.name);
  return startExecution(claimed, effective, load, floor.tools, queue.name);
}
