import type { Logger } from 'pino';

import { scrub, storable } from '../scrub.ts';
import type { NotesWriter } from './notes-writer.ts';
import { createScrubbedLog, type ScrubbedLine } from './scrubbed-log.ts';

/** Lines that are kept of one execution. */
export const MAX_LINES = 1_000;
const MAX_LINE_LENGTH = 8_192;
const MAX_NOTE_LENGTH = 200;
const PROGRESS_EVERY_MS = 500;
/** How long an ending waits until what the handler told is stored. */
const CLOSE_MS = 1_000;

export interface NotesSubject {
  readonly runId: string;
  readonly definition: string;
  readonly attempt: number;
  readonly execution: number;
  readonly requestId: string | undefined;
}

interface NotesTools {
  readonly log: Logger;
  readonly notes: NotesWriter;
}

/** What one execution tells operators: log lines and progress. Made when its handler first does. */
export class ExecutionNotes {
  readonly log: Logger;
  readonly #subject: NotesSubject;
  readonly #writer: NotesWriter;
  readonly #secrets: () => readonly string[];
  #lines = 0;
  #closed = false;
  #progressAt = -Infinity;
  #pending: { done: number; total: number | null; note: string | null } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(subject: NotesSubject, tools: NotesTools, secrets: () => readonly string[]) {
    this.#subject = subject;
    this.#writer = tools.notes;
    this.#secrets = secrets;
    const { runId, definition, attempt, requestId } = subject;
    const bindings = { runId, definition, attempt, requestId };
    this.log = createScrubbedLog(tools.log, bindings, secrets, (line) => this.#keep(line));
  }

  progress(done: number, total?: number, note?: string): void {
    if (this.#closed || !Number.isFinite(done)) return;
    this.#pending = {
      done,
      total: Number.isFinite(total) ? (total ?? null) : null,
      note: note === undefined ? null : this.#told(String(note), MAX_NOTE_LENGTH),
    };
    const dueInMs = this.#progressAt + PROGRESS_EVERY_MS - performance.now();
    if (dueInMs <= 0) this.#writeProgress();
    else this.#timer ??= setTimeout(() => this.#writeProgress(), dueInMs).unref();
  }

  /** Keeps nothing from now on; resolves when what was told is stored, or after a while. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#pending) this.#writeProgress();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timeout = setTimeout(resolve, CLOSE_MS);
    await Promise.race([this.#writer.flush(), late]);
    clearTimeout(timeout);
  }

  #writeProgress(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#pending) return;
    const { runId, execution } = this.#subject;
    this.#writer.addProgress({ runId, execution, ...this.#pending });
    this.#pending = undefined;
    this.#progressAt = performance.now();
  }

  #keep({ level, message, fields }: ScrubbedLine): void {
    if (this.#closed || this.#lines >= MAX_LINES) return;
    this.#lines += 1;
    const last = this.#lines === MAX_LINES;
    const text = message.slice(0, MAX_LINE_LENGTH);
    this.#writer.addLine({
      runId: this.#subject.runId,
      execution: this.#subject.execution,
      seq: this.#lines,
      at: new Date(),
      level: last ? 'warn' : level,
      message: last
        ? `the log lines of an execution are kept up to ${MAX_LINES}; the rest is not`
        : text.toWellFormed(),
      fields: last ? null : fieldsText(fields, MAX_LINE_LENGTH - text.length),
    });
  }

  #told(text: string, max: number): string {
    return storable(scrub(text, this.#secrets()).slice(0, max));
  }
}

function fieldsText(fields: ScrubbedLine['fields'], room: number): string | null {
  const text = JSON.stringify(fields);
  if (text === '{}') return null;
  return text.length <= room ? text : JSON.stringify({ dropped: `${text.length} characters` });
}
