import type { ExecutionOutcome } from '../../contract/run-state.ts';
import { NO_OVERRIDE } from '../../contract/override.ts';
import { effectiveConfig } from '../../engine/effective-config.ts';
import type { VerbScope } from '../verb.ts';
import type { RunFacts, RunningFacts, WaitingFacts } from './run-facts.ts';
import { runEndCode, runState } from './run-view.ts';
import type { RunRow } from './sql/get-run.ts';
import {
  endedFacts,
  type EndedRow,
  findTicket,
  runningFacts,
  type RunningRow,
  type TicketRow,
  waitingFacts,
  type WaitingRow,
} from './sql/run-facts.ts';

/** How many of a queue's oldest live runs are looked at, and up to how many that go before are counted. */
const LOOK = 10_000;
const AHEAD = 1_000;

/** What an explanation needs, in three queries. */
export async function gatherFacts(scope: VerbScope, run: RunRow): Promise<RunFacts> {
  const { rows } = await scope.tx.query<EndedRow>({ ...endedFacts, values: [run.id] });
  const ended = rows[0];
  const state = runState(run.state);
  const waits = state === 'queued' || state === 'retrying';
  return {
    now: run.now,
    run: { ...run, state, endCode: runEndCode(run.endCode) },
    last: {
      outcome: (ended?.outcome ?? null) as ExecutionOutcome | null,
      error: ended?.error ?? null,
      cancelledBy: ended?.cancelledBy ?? null,
      cancelReason: ended?.cancelReason ?? null,
    },
    waiting: waits && run.queue !== null ? await whileWaiting(scope, run, run.queue) : null,
    running: state === 'running' ? await whileRunning(scope, run) : null,
  };
}

async function whileWaiting(
  { tx }: VerbScope,
  run: RunRow,
  queue: string,
): Promise<WaitingFacts | null> {
  const { rows } = await tx.query<WaitingRow>({
    ...waitingFacts,
    values: [queue, run.definition, run.priority, run.runAt, run.id, LOOK],
  });
  const row = rows[0];
  if (!row) return null;
  const { rows: tickets } = await tx.query<TicketRow>({
    ...findTicket(queue),
    values: [run.ticket],
  });
  const { pause, other } = row;
  return {
    pause: pause && {
      by: pause.by,
      reason: pause.reason,
      at: new Date(pause.at),
      until: pause.until === null ? null : new Date(pause.until),
    },
    workers: row.workers,
    knowing: row.knowing,
    strands: row.strands,
    running: row.running,
    ahead: Math.min(row.ahead, AHEAD),
    aheadMore: row.ahead > AHEAD || row.looked === LOOK,
    other: other && { id: other.id, startedAt: new Date(other.startedAt) },
    ticket: tickets[0] ?? null,
  };
}

async function whileRunning({ tx, registry }: VerbScope, run: RunRow): Promise<RunningFacts> {
  const { rows } = await tx.query<RunningRow>({
    ...runningFacts,
    values: [run.workerId, run.definition, run.configVersion],
  });
  const { worker = null, override = null } = rows[0] ?? {};
  const definition = registry.find(run.definition);
  return {
    worker: worker && {
      host: worker.host,
      pid: worker.pid,
      seenAt: new Date(worker.seenAt),
      stoppingAt: worker.stoppingAt === null ? null : new Date(worker.stoppingAt),
    },
    timeoutMs: definition
      ? effectiveConfig(definition, { ...NO_OVERRIDE, ...override }).timeoutMs
      : null,
  };
}
