import type { Db } from '@millrace/db/client';
import type { Logger } from 'pino';

import type { EnqueueFromRun } from '../../authoring/enqueue.ts';
import type { HandlerContext, Progress } from '../../authoring/handler.ts';
import { type Actor, jobsActor } from '../../contract/run-context.ts';
import type { ClaimedRun } from '../sql/claim-runs.ts';
import { activeTraceContext } from '../telemetry/trace-context.ts';
import type { ExecutionScope } from './execution-scope.ts';

/**
 * What the handler of an execution gets. Everything is made when it is first asked for, since most
 * handlers ask for little, and may be taken out by itself (`{ log, enqueue }`).
 */
export class RunHandlerContext implements HandlerContext {
  readonly signal: AbortSignal;
  readonly #scope: ExecutionScope;

  constructor(scope: ExecutionScope, signal: AbortSignal) {
    this.#scope = scope;
    this.signal = signal;
  }

  get #claimed(): ClaimedRun {
    return this.#scope.claimed;
  }

  get runId(): string {
    return this.#claimed.id;
  }

  get execution(): number {
    return this.#claimed.execution;
  }

  get attempt(): number {
    return this.#claimed.attempt;
  }

  get maxAttempts(): number {
    return this.#claimed.max_attempts;
  }

  get slot(): Date | null {
    return this.#claimed.slot;
  }

  get log(): Logger {
    return this.#scope.notes.log;
  }

  get progress(): Progress {
    return (done, total, note) => this.#scope.notes.progress(done, total, note);
  }

  get actor(): Actor {
    return jobsActor(this.onBehalfOf);
  }

  get onBehalfOf(): Actor | null {
    return this.#scope.context.actor ?? null;
  }

  get requestId(): string | null {
    return this.#scope.context.requestId ?? null;
  }

  get db(): Db {
    return this.#scope.tools.db;
  }

  get enqueue(): EnqueueFromRun {
    // The context comes last, so that no caller acts for somebody else: what a run does was authorised
    // for its own actor.
    return (definition, args, options) =>
      this.#scope.tools.enqueue(definition, args, {
        ...options,
        context: { ...this.#scope.context, ...activeTraceContext() },
      });
  }
}
