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
import type { SchedulerTrigger } from './trigger-job.ts';

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

  async function start(
    definition: InlineJobDefinition,
    { idempotencyKey, slot, context }: SchedulerTrigger,
  ): Promise<StartedInline> {
    const { rows } = await tools.pool.query<StartedInline>({
      ...startInline,
      values: [
        definition.name,
        idempotencyKey,
        slot,
        context,
        processId,
        definition.timeoutMs + LEASE_SLACK_MS,
      ],
    });
    return rows[0] as StartedInline;
  }

  async function execute(
    definition: InlineJobDefinition,
    trigger: SchedulerTrigger,
    runId: string,
  ): Promise<InlineAnswer> {
    const log = tools.log.child({ runId, definition: definition.name });
    const settled = await callHandler(definition, trigger.slot, runId, { ...tools, log });
    const result = settled.how === 'returned' ? (settled.value as InlineResult) : null;
    const outcome = result ? 'succeeded' : wasTimeout(settled) ? 'timed_out' : 'failed';
    const error = settled.how === 'threw' ? describeError(settled.error, []) : null;
    const { rows } = await tools.pool.query<{ written: boolean }>({
      ...finishInline,
      values: [runId, processId, outcome, error, result, trigger.idempotencyKey],
    });
    if (result && rows[0]?.written) return toAnswer(result);
    log.error({ error, outcome }, 'inline job failed');
    throw jobFailed();
  }

  return async (definition, trigger) => {
    const started = await start(definition, trigger);
    switch (started.verdict) {
      case 'started':
        return { answer: await execute(definition, trigger, started.run_id), replayed: false };
      case 'replayed':
        return { answer: toAnswer(started), replayed: true };
      case 'running':
        return { answer: await join(tools.pool, started.run_id, trigger), replayed: true };
    }
  };
}

async function callHandler(
  definition: InlineJobDefinition,
  slot: Date | null,
  runId: string,
  { db, log, loadHandler }: InlineTools,
): Promise<Settled> {
  const controller = new AbortController();
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
  return settleOrAbort(call(), controller, definition.timeoutMs);
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

function wasTimeout(settled: Settled): boolean {
  return settled.how === 'threw' && settled.error instanceof RunAborted;
}

function jobFailed(): JobError {
  return new JobError('job_failed', 'The job failed; its run history tells why.');
}
