import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Db } from '@millrace/db/client';
import type pg from 'pg';
import type { Logger } from 'pino';

import type { InlineHandler, InlineResult } from '../../authoring/handler.ts';
import { RunAborted } from '../../authoring/handler.ts';
import type { InlineJobDefinition } from '../../contract/definition.ts';
import { JobError } from '../../contract/errors.ts';
import type { InlineAnswer } from '../../contract/scheduler-job.ts';
import type { Settled } from '../decide-ending.ts';
import { storedContext } from '../context/stored-context.ts';
import { describeError } from '../describe-error.ts';
import { settleOrAbort } from '../execute-run.ts';
import {
  bindInlineKey,
  finishInline,
  type InlineOutcome,
  inlineOutcome,
  type StartedInline,
  startInline,
} from '../sql/inline-runs.ts';
import { cancelRequests } from '../sql/leases.ts';
import { createInlineObserver } from './observe-inline.ts';
import { definitionDisabled, type SchedulerTrigger } from './trigger-job.ts';

export interface InlineTools {
  readonly pool: pg.Pool;
  readonly db: Db;
  readonly log: Logger;
  readonly loadHandler: (name: string) => Promise<InlineHandler>;
}

/** How long the lease outlives the timeout: the abort's grace and the final write. */
const LEASE_SLACK_MS = 5_000;
const JOIN_MS = 10_000;
const JOIN_POLL_MS = 200;
const CANCEL_POLL_MS = 1_000;

/**
 * Returns the verb behind `POST /internal/jobs/{jobType}` for inline definitions: executes the job and
 * answers its count, or joins the call that is executing it. Throws `job_failed` when it failed or ran
 * into its timeout, and `already_running` when the call it joined did not end within 10 s.
 */
export function createRunInline(
  tools: InlineTools,
): (
  definition: InlineJobDefinition,
  trigger: SchedulerTrigger,
) => Promise<{ answer: InlineAnswer; replayed: boolean }> {
  const processId = randomUUID();
  const observe = createInlineObserver(tools);

  async function execute(
    definition: InlineJobDefinition,
    trigger: SchedulerTrigger,
    { run_id: runId, timeout_ms: timeoutMs }: StartedInline,
  ): Promise<InlineAnswer> {
    const { requestId } = trigger.context;
    const observed = observe(definition.name, runId, trigger.context);
    const settled = await observed.run(() =>
      callHandler({ ...definition, timeoutMs }, trigger.slot, runId, {
        ...tools,
        log: observed.log,
      }),
    );
    const result = settled.how === 'returned' ? (settled.value as InlineResult) : null;
    const outcome = result ? 'succeeded' : failedBecause(settled);
    const error = settled.how === 'threw' ? describeError(settled.error, []) : null;
    await observed.end(outcome, error);
    const { rows } = await tools.pool.query<{ written: boolean }>({
      ...finishInline,
      values: [runId, processId, outcome, error, result, trigger.idempotencyKey],
    });
    if (result && rows[0]?.written) return toAnswer(result);
    const about = { runId, definition: definition.name, attempt: 1, requestId };
    const level = outcome === 'cancelled' ? 'info' : 'error';
    tools.log[level]({ ...about, error, outcome }, `inline job ${outcome}`);
    throw jobFailed();
  }

  return async (definition, trigger) => {
    const started = await start(tools.pool, processId, definition, trigger);
    switch (started.verdict) {
      case 'started':
        return { answer: await execute(definition, trigger, started), replayed: false };
      case 'replayed':
        return { answer: toAnswer(started), replayed: true };
      case 'disabled':
        throw definitionDisabled(definition.name);
      case 'running':
        return { answer: await join(tools.pool, started.run_id, trigger), replayed: true };
    }
  };
}

async function start(
  pool: pg.Pool,
  processId: string,
  { name, timeoutMs, enabled }: InlineJobDefinition,
  { idempotencyKey, slot, context }: SchedulerTrigger,
): Promise<StartedInline> {
  const stored = storedContext(context) ?? {};
  const { rows } = await pool.query<StartedInline>({
    ...startInline,
    values: [name, idempotencyKey, slot, stored, processId, timeoutMs, LEASE_SLACK_MS, enabled],
  });
  return rows[0] as StartedInline;
}

async function callHandler(
  definition: InlineJobDefinition,
  slot: Date | null,
  runId: string,
  { pool, db, log, loadHandler }: InlineTools,
): Promise<Settled> {
  const controller = new AbortController();
  const cancels = abortOnCancel(pool, runId, controller);
  const call = async (): Promise<Settled> => {
    try {
      const handler = await loadHandler(definition.name);
      const { limit } = definition;
      const result = await handler({ runId, limit, slot, signal: controller.signal, log, db });
      return { how: 'returned', value: checkedResult(result, definition) };
    } catch (error) {
      return { how: 'threw', error };
    }
  };
  return settleOrAbort(call(), controller, definition.timeoutMs).finally(() => cancels.stop());
}

/** Waits for the call that is executing the job and answers as it does. */
async function join(
  pool: pg.Pool,
  runId: string,
  { idempotencyKey }: SchedulerTrigger,
): Promise<InlineAnswer> {
  const giveUpAt = Date.now() + JOIN_MS;
  while (Date.now() < giveUpAt) {
    await sleep(JOIN_POLL_MS);
    const { rows } = await pool.query<InlineOutcome>({ ...inlineOutcome, values: [runId] });
    const ended = rows[0];
    if (ended?.outcome === 'succeeded') {
      if (idempotencyKey !== null) {
        await pool.query({ ...bindInlineKey, values: [runId, idempotencyKey] });
      }
      return toAnswer(ended);
    }
    if (ended?.outcome) throw jobFailed();
  }
  throw new JobError('already_running', 'Another call is executing this job.');
}

function toAnswer({ count, more }: Pick<InlineOutcome, 'count' | 'more'>): InlineAnswer {
  return { count: count ?? 0, ...(more === true && { more }) };
}

function checkedResult(
  { count, more }: InlineResult,
  { name, limit }: InlineJobDefinition,
): InlineResult {
  if (!Number.isInteger(count) || count < 0 || count > limit) {
    throw new TypeError(`${name} must report a count from 0 to its limit of ${limit}`);
  }
  // Whatever else it is, the database would refuse it.
  return { count, more: more === true };
}

function failedBecause(settled: Settled): 'failed' | 'timed_out' | 'cancelled' {
  if (settled.how !== 'threw' || !(settled.error instanceof RunAborted)) return 'failed';
  return settled.error.reason === 'cancelled' ? 'cancelled' : 'timed_out';
}

/** A call is over in seconds: looking is enough to hear of its cancel within 2 s. */
function abortOnCancel(
  pool: pg.Pool,
  runId: string,
  controller: AbortController,
): { stop(): void } {
  const timer = setInterval(() => {
    pool
      .query<{ id: string }>({ ...cancelRequests, values: [[runId]] })
      .then(({ rows }) => rows.length > 0 && controller.abort(new RunAborted('cancelled')))
      .catch(() => undefined); // it is asked again
  }, CANCEL_POLL_MS);
  return { stop: () => clearInterval(timer) };
}

function jobFailed(): JobError {
  return new JobError('job_failed', 'The job failed; its run history tells why.');
}
