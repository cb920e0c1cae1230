import type pg from 'pg';
import type { z } from 'zod';

import type { Enqueue, EnqueuedRun, EnqueueOptions } from '../authoring/enqueue.ts';
import type { JobDefinition } from '../contract/definition.ts';
import { JobError } from '../contract/errors.ts';
import { isStorable } from '../contract/storable.ts';
import { storedContext } from './context/stored-context.ts';
import {
  createSingleFlightWriter,
  isTransientError,
  isConnectionError,
} from './single-flight-writer.ts';
import { type EnqueuedRow, enqueueRuns } from './sql/enqueue-runs.ts';

/**
 * A transaction of the caller: a `pg` client, or Prisma's transaction client. What is enqueued in it
 * exists when it commits and never if it rolls back.
 */
export type CallerTransaction =
  | { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> }
  | { $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown> };

/** One run to add: a definition with its arguments, and options. */
export interface EnqueueItem<Definition extends JobDefinition = JobDefinition> {
  readonly definition: Definition;
  readonly args: z.input<Definition['args']>;
  readonly options?: EnqueueOptions;
}

/** Adds runs; executes none. What the web app uses. */
export interface JobClient {
  readonly enqueue: Enqueue;
  /** Adds several runs in one statement: all of them or, on an error, none. */
  enqueueMany(items: readonly EnqueueItem[]): Promise<EnqueuedRun[]>;
  /** The same within a transaction of the caller. */
  in(transaction: CallerTransaction): Pick<JobClient, 'enqueue' | 'enqueueMany'>;
}

const MAX_BATCH = 1_000;

/** A client that enqueues through the pool. Concurrent single enqueues share statements. */
export function createJobClient({ pool }: { pool: pg.Pool }): JobClient {
  const write = createSingleFlightWriter<string, EnqueuedRun>({
    maxBatch: MAX_BATCH,
    // After a lost connection the runs may be there already: the caller decides.
    mayRetry: (error, failingForMs) =>
      isTransientError(error) && !isConnectionError(error) && failingForMs < 5_000,
    async send(requests) {
      const { rows } = await pool.query<EnqueuedRow>({
        ...enqueueRuns,
        values: [`[${requests.join(',')}]`],
      });
      return inOrder(rows, requests.length);
    },
  });

  return {
    enqueue: async (definition, args, options) => write(toRequest({ definition, args, options })),
    async enqueueMany(items) {
      if (items.length === 0) return [];
      const { rows } = await pool.query<EnqueuedRow>({
        ...enqueueRuns,
        values: [toRequests(items)],
      });
      return inOrder(rows, items.length);
    },
    in(transaction) {
      const enqueueMany = async (items: readonly EnqueueItem[]): Promise<EnqueuedRun[]> =>
        items.length === 0
          ? []
          : inOrder(await queryIn(transaction, toRequests(items)), items.length);
      return {
        enqueueMany,
        enqueue: async (definition, args, options) => {
          const [run] = await enqueueMany([{ definition, args, ...(options && { options }) }]);
          return run as EnqueuedRun;
        },
      };
    },
  };
}

async function queryIn(transaction: CallerTransaction, requests: string): Promise<EnqueuedRow[]> {
  const rows =
    '$queryRawUnsafe' in transaction
      ? await transaction.$queryRawUnsafe(enqueueRuns.text, requests)
      : (await transaction.query(enqueueRuns.text, [requests])).rows;
  return rows as EnqueuedRow[];
}

/** One answer per request, in their order. Throws when the database's answers are not that. */
function inOrder(rows: readonly EnqueuedRow[], count: number): EnqueuedRun[] {
  const byOrdinal = new Map(rows.map((row) => [row.ordinal, row]));
  return Array.from({ length: count }, (_, index) => {
    const row = byOrdinal.get(index + 1);
    if (!row || rows.length !== count) {
      throw new Error(`${count} runs were enqueued, but ${rows.length} were answered`);
    }
    return { runId: row.run_id, duplicate: row.duplicate };
  });
}

function toRequests(items: readonly EnqueueItem[]): string {
  return `[${items.map(toRequest).join(',')}]`;
}

/** The request that `millrace.enqueue_runs` understands, with the arguments checked. */
export function toRequest(item: {
  definition: JobDefinition;
  args: unknown;
  options?: EnqueueOptions | undefined;
}): string {
  const { definition, options = {} } = item;
  refuseOptions(options);
  return JSON.stringify({
    definition: definition.name,
    args: storedArgs(definition, item.args),
    queue: definition.queue,
    priority: options.priority ?? definition.priority,
    maxAttempts: definition.maxAttempts,
    runAt: options.runAt,
    delayMs: options.delayMs === undefined ? undefined : Math.round(options.delayMs),
    dedupeKey: options.dedupe?.key,
    tags: options.tags,
    context: storedContext(options.context),
  });
}

const MAX_ARGS_LENGTH = 262_144;

/** The arguments as they will be stored, after making sure that the worker will be able to read them. */
export function storedArgs(definition: JobDefinition, args: unknown): unknown {
  const refuse = (why: string): JobError =>
    new JobError('invalid_job_args', `Arguments of ${definition.name}: ${why}`);
  const text = toJson(args);
  if (text === undefined) throw refuse('they cannot be written as JSON.');
  // jsonb_to_recordset() does not tell null from a field that is missing.
  if (text === 'null') throw refuse('null cannot be stored; use an object.');
  if (text.length > MAX_ARGS_LENGTH) {
    throw refuse(
      `they take ${text.length} characters of ${MAX_ARGS_LENGTH}; pass a reference instead.`,
    );
  }
  const stored: unknown = JSON.parse(text);
  if (!isStorable(stored)) throw refuse('a string holds a NUL character or half a surrogate pair.');
  const checked = definition.args.safeParse(stored);
  if (!checked.success) {
    const issues = checked.error.issues.map(
      (issue) => `${issue.path.join('.') || '(arguments)'}: ${issue.message}`,
    );
    throw refuse(issues.join('; '));
  }
  return stored;
}

/** Undefined for what JSON has no text for: undefined, functions, circles, bigints. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function refuseOptions({ runAt, delayMs, priority, tags, dedupe }: EnqueueOptions): void {
  const faults = [
    runAt !== undefined && Number.isNaN(runAt.getTime()) && 'runAt is not a date',
    runAt !== undefined && delayMs !== undefined && 'give runAt or delayMs, not both',
    delayMs !== undefined &&
      !(delayMs >= 0 && delayMs <= 315_360_000_000) &&
      'delayMs must be 0 to 10 years',
    priority !== undefined &&
      !(Number.isInteger(priority) && Math.abs(priority) <= 100) &&
      'priority must be -100 to 100',
    (tags?.length ?? 0) > 10 && 'at most 10 tags',
    tags?.some((tag) => !/^[^\0\p{Cs}]{1,100}$/u.test(tag)) && 'a tag has 1 to 100 characters',
    dedupe !== undefined &&
      !/^[^\0\p{Cs}]{1,200}$/u.test(dedupe.key) &&
      'dedupe.key has 1 to 200 characters',
  ].filter((fault) => typeof fault === 'string');
  if (faults.length > 0) throw new TypeError(`enqueue: ${faults.join('; ')}`);
}
