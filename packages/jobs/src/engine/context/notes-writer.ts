import { setTimeout as sleep } from 'node:timers/promises';

import type pg from 'pg';
import type { Logger } from 'pino';

import { isTransientError } from '../single-flight-writer.ts';
import {
  insertLogLines,
  type LogLine,
  lineValues,
  type ProgressNote,
  progressValues,
  upsertProgress,
} from '../sql/run-notes.ts';

/** Stores what executions tell, in the background. No method fails, whatever the database does. */
export interface NotesWriter {
  /** False when the line is lost: more waits to be written than may. */
  readonly addLine: (line: LogLine) => boolean;
  /** The latest of a run counts. */
  readonly addProgress: (note: ProgressNote) => void;
  /** Writes now; resolves when what had been added is written or given up. */
  readonly flush: () => Promise<void>;
}

interface NotesWriterOptions {
  readonly pool: Pick<pg.Pool, 'query'>;
  readonly log: Logger;
}

const LINGER_MS = 100;
/** Of all lines that wait, in characters: while the database is away they must not fill the memory. */
const MAX_WAITING = 8_000_000;
const MAX_ROWS = 1_000;
const TRIES = 3;
const RETRY_MS = 200;
const COMPLAIN_EVERY_MS = 60_000;

/** What is written together. */
interface Batch {
  readonly lines: LogLine[];
  readonly progress: Map<string, ProgressNote>;
  size: number;
  readonly written: PromiseWithResolvers<void>;
}

const emptyBatch = (): Batch => ({
  lines: [],
  progress: new Map(),
  size: 0,
  written: Promise.withResolvers(),
});
const isEmpty = ({ lines, progress }: Batch): boolean => lines.length === 0 && progress.size === 0;

/** Groups what comes within a moment, or while a statement is under way, into few statements. */
export function createNotesWriter(options: NotesWriterOptions): NotesWriter {
  const complain = createComplaint(options.log);
  let waiting = emptyBatch();
  let writing: Batch | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function drain(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    while (!isEmpty(waiting)) {
      writing = waiting;
      waiting = emptyBatch();
      await write(options.pool, writing).catch(complain);
      writing.written.resolve();
    }
    writing = undefined;
  }

  function added(): void {
    if (!writing) timer ??= setTimeout(() => void drain(), LINGER_MS).unref();
  }

  return {
    addLine(line) {
      const size = line.message.length + (line.fields?.length ?? 0) + 100;
      if (waiting.size + (writing?.size ?? 0) + size > MAX_WAITING) {
        complain(new Error('too many log lines wait to be stored'));
        return false;
      }
      waiting.lines.push(line);
      waiting.size += size;
      added();
      return true;
    },
    addProgress(note) {
      waiting.progress.set(note.runId, note);
      added();
    },
    flush() {
      const last = isEmpty(waiting) ? writing : waiting;
      if (!writing) void drain();
      return last?.written.promise ?? Promise.resolve();
    },
  };
}

async function write(pool: Pick<pg.Pool, 'query'>, { lines, progress }: Batch): Promise<void> {
  if (progress.size > 0) {
    await send(pool, { ...upsertProgress, values: progressValues([...progress.values()]) });
  }
  for (let from = 0; from < lines.length; from += MAX_ROWS) {
    const part = lines.slice(from, from + MAX_ROWS);
    await send(pool, { ...insertLogLines, values: lineValues(part) });
  }
}

async function send(pool: Pick<pg.Pool, 'query'>, query: pg.QueryConfig): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await pool.query(query);
      return;
    } catch (error) {
      if (tries === TRIES || !isTransientError(error)) throw error;
      await sleep(RETRY_MS, undefined, { ref: false });
    }
  }
}

/** Says that something was lost; while it goes on, once a minute. */
function createComplaint(log: Logger): (error: unknown) => void {
  let complainedAt = -Infinity;
  return (error) => {
    if (performance.now() - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = performance.now();
    log.warn({ err: error }, 'log lines and progress of runs could not be stored');
  };
}
