import type { RunFilter } from './run-filter.ts';
import { sealedCursors } from './sealed-cursor.ts';

/** From which run on a page goes, and which way. */
export interface RunPosition {
  readonly toward: 'older' | 'newer';
  /** The page begins next to it; it may be gone. */
  readonly id: string;
}

interface RunCursors {
  write(position: RunPosition): string;
  /** Throws `invalid_cursor`. */
  read(cursor: string): RunPosition;
}

/** Cursors of the list that a filter makes. */
export function runCursors(key: Buffer, filter: RunFilter): RunCursors {
  const fields = Object.entries(filter).filter(([, value]) => value !== undefined);
  const list = JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
  const cursors = sealedCursors(key, `runs ${list}`);
  return {
    write: ({ toward, id }) => cursors.write(`${toward === 'older' ? '<' : '>'}${id}`),
    read(cursor) {
      const position = cursors.read(cursor);
      return { toward: position.startsWith('<') ? 'older' : 'newer', id: position.slice(1) };
    },
  };
}
