import { type Logger, symbols } from 'pino';

import { scrub, scrubDeep, storable } from '../scrub.ts';
import type { LogLevel } from '../sql/run-notes.ts';

/** What a handler logged, without the secrets and without what the logger says of its own. */
export interface ScrubbedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What pino writes by itself; `pid` and `hostname` are those of the application's own base. */
const PINO_KEYS: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg']);

/**
 * A child of `parent` from whose lines the secrets are removed where they leave pino, as text: whatever
 * it was logged by (message, fields, serialisers, children). Lines from `info` on reach `onLine` also
 * where the parent's level keeps them out of the process's log.
 */
export function createScrubbedLog(
  parent: Logger,
  bindings: Readonly<Record<string, unknown>>,
  secrets: () => readonly string[],
  onLine: (line: ScrubbedLine) => void,
): Logger {
  const quiet = !parent.isLevelEnabled('info');
  const log = parent.child(bindings, quiet ? { level: 'info' } : {});
  const own = log.bindings();
  // pino's documented way to a logger's destination; children share their parent's.
  const holder = log as unknown as Record<typeof symbols.streamSym, LogStream>;
  const target = holder[symbols.streamSym];
  holder[symbols.streamSym] = {
    write(text) {
      const line = parseLine(text);
      if (!line) return;
      const { msg, ...rest } = line;
      const message = scrubbedText(msg, secrets());
      const fields: Record<string, unknown> = {};
      for (const [key, value] of Object.entries(rest)) {
        if (PINO_KEYS.has(key) || Object.hasOwn(own, key)) continue;
        fields[storable(scrub(key, secrets()))] = scrubDeep(value, secrets());
      }
      const { level } = rest;
      if (typeof level !== 'number' || level >= parent.levelVal) {
        const { pid, hostname, time } = rest;
        const written = { level, time, pid, hostname, ...own, ...fields, msg: message };
        target.write(`${JSON.stringify(written)}\n`);
      }
      onLine({ level: levelName(level), message, fields });
    },
    flush: (done) => (target.flush ? target.flush(done) : done()),
    flushSync: () => target.flushSync?.(),
  };
  return log;
}

interface LogStream {
  write(text: string): void;
  flush?(done: (error?: Error) => void): void;
  flushSync?(): void;
}

/** Undefined for what a serialiser of the application made unreadable: it cannot be scrubbed either. */
function parseLine(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function scrubbedText(value: unknown, secrets: readonly string[]): string {
  if (value === undefined) return '';
  return storable(scrub(typeof value === 'string' ? value : JSON.stringify(value), secrets));
}

function levelName(level: unknown): LogLevel {
  if (typeof level !== 'number') return 'info';
  if (level >= 60) return 'fatal';
  if (level >= 50) return 'error';
  if (level >= 40) return 'warn';
  if (level >= 30) return 'info';
  return level >= 20 ? 'debug' : 'trace';
}
