import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const TAIL_BYTES = 16_384;

/** Moves the log of the last start aside, so that a log tells of one start only. */
export function rotateLog(path: string): void {
  if (existsSync(path) && statSync(path).size > 0) renameSync(path, `${path}.1`);
}

/** The last lines of a log. */
export function tailLog(path: string, lines: number): string {
  const size = existsSync(path) ? statSync(path).size : 0;
  return readFrom(path, Math.max(0, size - TAIL_BYTES))
    .trimEnd()
    .split('\n')
    .slice(-lines)
    .join('\n');
}

/** Hands every line that matters to a person to `report`, as it is written. Returns what ends this. */
export function followLog(path: string, report: (line: string) => void): () => void {
  let offset = existsSync(path) ? statSync(path).size : 0;
  let rest = '';
  const look = (): void => {
    const text = readFrom(path, offset);
    if (text === '') return;
    offset += Buffer.byteLength(text);
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const summary = summarise(line);
      if (summary !== null) report(summary);
    }
  };
  const timer = setInterval(look, 300);
  return () => {
    clearInterval(timer);
    look();
  };
}

/** A warning or error in one short line; null for everything else. */
export function summarise(line: string): string | null {
  if (line.startsWith('{')) return summariseJson(line);
  return /^\s*(⨯|⚠)|^millrace: |^(\w*Error|error)\b/.test(line) ? line.trim() : null;
}

const WARNING_LEVEL = 40;

function summariseJson(line: string): string | null {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null) return null;
    const { level, msg, err } = entry as { level?: unknown; msg?: unknown; err?: unknown };
    if (typeof level !== 'number' || level < WARNING_LEVEL) return null;
    const cause =
      typeof err === 'object' && err !== null && 'message' in err ? `: ${String(err.message)}` : '';
    return `${level > WARNING_LEVEL ? 'error' : 'warning'}: ${String(msg)}${cause}`;
  } catch {
    return null;
  }
}

function readFrom(path: string, offset: number): string {
  if (!existsSync(path)) return '';
  const file = openSync(path, 'r');
  try {
    const length = Math.max(0, statSync(path).size - offset);
    const buffer = Buffer.alloc(length);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, length, offset));
  } finally {
    closeSync(file);
  }
}
