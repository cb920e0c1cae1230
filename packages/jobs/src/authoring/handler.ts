import type { Db } from '@millrace/db/client';
import type { Logger } from 'pino';
import type { z } from 'zod';

import type { InlineJobDefinition, JobDefinition } from '../contract/definition.ts';
import type { Actor } from '../contract/run-context.ts';
import type { EnqueueFromRun } from './enqueue.ts';
import type { Outcome } from './outcome.ts';

/** Why a handler's signal fired. */
export type AbortReason = 'timeout' | 'cancelled' | 'shutdown' | 'lease-lost';

/** The `reason` of an aborted handler signal. */
export class RunAborted extends Error {
  override readonly name = 'RunAborted';
  readonly reason: AbortReason;

  constructor(reason: AbortReason) {
    super(`aborted: ${reason}`);
    this.reason = reason;
  }
}

/** What a handler is told about its run, and what it may use. */
export interface HandlerContext {
  readonly runId: string;
  /** Numbers the claims of this run from 1: with `runId` it names this execution and no other. */
  readonly execution: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The instant for which a clock triggered this run; null for other triggers. */
  readonly slot: Date | null;
  /** Fires with a {@link RunAborted} at timeout, cancel, shutdown or loss of the lease. */
  readonly signal: AbortSignal;
  /**
   * Writes to the process's log and, from level `info` on, to the run's own log lines, which operators
   * see. Strings of the arguments are removed from both. Never waits.
   */
  readonly log: Logger;
  /** Shows how far the work is; see {@link Progress}. */
  readonly progress: Progress;
  /** Always `system:jobs`, in the organisation of whoever caused the run. */
  readonly actor: Actor;
  /** Who caused the run, to name in audits: no permission follows from it. */
  readonly onBehalfOf: Actor | null;
  /** The id of the request that caused the run, directly or through other runs. */
  readonly requestId: string | null;
  readonly db: Db;
  /** Enqueues further runs. */
  readonly enqueue: EnqueueFromRun;
}

/**
 * Shows operators how much of the work is done, of how much if that is known, and a word about it.
 * Call it as often as you like: the latest is written at most twice a second, and nobody waits for it.
 * What is no number is ignored.
 */
export type Progress = (done: number, total?: number, note?: string) => void;

/** Plain data that is stored with the run and shown to operators: counts, no personal data. */
export type HandlerResult = Readonly<Record<string, unknown>>;

/** Does the work of one run. Throw to fail the attempt, or return an {@link Outcome}. */
export type Handler<Definition extends JobDefinition> = (
  args: z.output<Definition['args']>,
  ctx: HandlerContext,
) => Promise<HandlerResult | Outcome | void>;

/** Types a handler's arguments by its definition. */
export function defineHandler<Definition extends JobDefinition>(
  _definition: Definition,
  handler: Handler<Definition>,
): Handler<Definition> {
  return handler;
}

export interface InlineHandlerContext {
  readonly runId: string;
  readonly limit: number;
  readonly slot: Date | null;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly db: Db;
}

/** How many items were handled, and whether the limit left some for the next call. */
export interface InlineResult {
  readonly count: number;
  readonly more: boolean;
}

/** Does one capped call of an inline job. */
export type InlineHandler = (ctx: InlineHandlerContext) => Promise<InlineResult>;

/** Marks a handler as the one of an inline definition. */
export function defineInlineHandler(
  _definition: InlineJobDefinition,
  handler: InlineHandler,
): InlineHandler {
  return handler;
}
