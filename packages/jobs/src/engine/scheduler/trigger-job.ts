import type pg from 'pg';

import type { RunContext } from '../../contract/run-context.ts';
import type { Registry } from '../../authoring/registry.ts';
import type { AnyDefinition, JobDefinition } from '../../contract/definition.ts';
import { JobError } from '../../contract/errors.ts';
import { isTerminal, shownStatus } from '../../contract/run-state.ts';
import type { AcceptedJob } from '../../contract/scheduler-job.ts';
import { storedContext } from '../context/stored-context.ts';
import { storedArgs } from '../enqueue-run.ts';
import {
  createSingleFlightWriter,
  isConnectionError,
  isTransientError,
  WaitedTooLong,
} from '../single-flight-writer.ts';
import { type TriggeredRow, triggerRuns } from '../sql/trigger-runs.ts';

/** What a scheduler's POST brings along. */
export interface SchedulerTrigger {
  readonly idempotencyKey: string | null;
  readonly slot: Date | null;
  readonly context: RunContext;
}

export interface TriggeredJob {
  readonly job: AcceptedJob;
  /** Whether the job was there already. */
  readonly replayed: boolean;
}

/**
 * The definition that the scheduler names. Throws `job_definition_not_found` also for one that exists
 * but is not the scheduler's to trigger.
 */
export function schedulerDefinition(registry: Registry, name: string): AnyDefinition {
  const definition = registry.definitions.get(name);
  if (definition?.clock !== 'kestra') {
    throw new JobError(
      'job_definition_not_found',
      'No job definition of this name can be triggered by the scheduler.',
    );
  }
  return definition;
}

const MAX_BATCH = 100;
/** What a POST that was answered "unavailable" asked for must not happen minutes later. */
const MAX_WAIT_MS = 4_000;

/** Returns the verb behind `POST /internal/jobs/{jobType}` for queued definitions. */
export function createTriggerJob(
  pool: pg.Pool,
): (definition: JobDefinition, trigger: SchedulerTrigger) => Promise<TriggeredJob> {
  const write = createSingleFlightWriter<string, TriggeredRow>({
    maxBatch: MAX_BATCH,
    maxWaitMs: MAX_WAIT_MS,
    mayRetry: (error, failingForMs) =>
      isTransientError(error) && !isConnectionError(error) && failingForMs < 3_000,
    async send(requests) {
      const { rows } = await pool.query<TriggeredRow>({
        ...triggerRuns,
        values: [`[${requests.join(',')}]`],
      });
      return rows.toSorted((a, b) => a.ordinal - b.ordinal);
    },
  });

  return async (definition, { idempotencyKey, slot, context }) => {
    const row = await write(
      JSON.stringify({
        definition: definition.name,
        args: storedArgs(definition, definition.newArgs?.({ slot }) ?? {}),
        queue: definition.queue,
        priority: definition.priority,
        maxAttempts: definition.maxAttempts,
        overlap: definition.overlap,
        enabled: definition.enabled,
        idempotencyKey,
        slot,
        context: storedContext(context),
      }),
    ).catch(refuseLate);
    if (row.run_id === null) throw definitionDisabled(definition.name);
    return {
      replayed: row.replayed,
      job: {
        jobId: row.run_id,
        type: definition.name,
        status: shownStatus(row.state, row.run_at ?? new Date(0), new Date()),
        done: isTerminal(row.state),
      },
    };
  };
}

export function definitionDisabled(name: string): JobError {
  return new JobError(
    'job_definition_disabled',
    `${name} is disabled; an operator can enable it again.`,
  );
}

function refuseLate(error: unknown): never {
  if (!(error instanceof WaitedTooLong)) throw error;
  throw new JobError('unavailable', 'The database did not answer in time; try again.', {
    cause: error,
  });
}
