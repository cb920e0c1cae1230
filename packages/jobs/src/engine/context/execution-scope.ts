import type { Db } from '@millrace/db/client';
import type { Logger } from 'pino';

import type { Enqueue } from '../../authoring/enqueue.ts';
import { readRunContext, type StoredContext } from '../../contract/run-context.ts';
import { secretsIn } from '../scrub.ts';
import type { ClaimedRun } from '../sql/claim-runs.ts';
import { ExecutionNotes } from './execution-notes.ts';
import type { NotesWriter } from './notes-writer.ts';

/** What the process lends to handlers. */
export interface ExecutionTools {
  readonly db: Db;
  readonly enqueue: Enqueue;
  readonly log: Logger;
  readonly notes: NotesWriter;
}

/** What belongs to one execution. Everything is made when it is first asked for: most runs need none. */
export class ExecutionScope {
  readonly claimed: ClaimedRun;
  readonly tools: ExecutionTools;
  #secrets: readonly string[] | undefined;
  #context: StoredContext | undefined;
  #notes: ExecutionNotes | undefined;

  constructor(claimed: ClaimedRun, tools: ExecutionTools) {
    this.claimed = claimed;
    this.tools = tools;
  }

  /** The strings of the arguments, which no one may see. */
  get secrets(): readonly string[] {
    return (this.#secrets ??= secretsIn(this.claimed.args));
  }

  get context(): StoredContext {
    return (this.#context ??= readRunContext(this.claimed.context));
  }

  get notes(): ExecutionNotes {
    const { id: runId, definition, attempt, execution } = this.claimed;
    const { requestId } = this.context;
    return (this.#notes ??= new ExecutionNotes(
      { runId, definition, attempt, execution, requestId },
      this.tools,
      () => this.secrets,
    ));
  }

  /** Undefined when the handler told nothing. */
  closeNotes(): Promise<void> | undefined {
    return this.#notes?.close();
  }
}
