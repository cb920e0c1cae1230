import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file that takes a line per scenario. */
    readonly faultRecords: string;
  }
}

/** What one scenario injected and what came of it: a row of the table of faults. */
export interface FaultRecord {
  readonly fault: string;
  /** How many times. */
  readonly injected: number;
  /** Accepted runs. */
  readonly runs: number;
  /** Accepted runs that are gone or never ended, and successes without their work. */
  readonly lost: number;
  /** Starts of a handler that the promise rules out; a rescue of a lost execution is none. */
  readonly repeatedWrongly: number;
  /** The longest time from a fault until what it hurt went on; null where nothing had to be rescued. */
  readonly recoveryMs: number | null;
}

/** Called by scenarios. A file carries the rows, since every test file has a process of its own. */
export function appendFaultRecord(record: FaultRecord): void {
  appendFileSync(inject('faultRecords'), `${JSON.stringify(record)}\n`);
}

/** Writes the table of the records to `target` and returns it; undefined if there are none. */
export function writeFaultTable(records: string, target: string): string | undefined {
  if (!existsSync(records)) return undefined;
  const lines = readFileSync(records, 'utf8').trimEnd().split('\n');
  const table = renderFaultTable(lines.map((line) => JSON.parse(line) as FaultRecord));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, table);
  return table;
}

const HEAD = ['fault', 'injected', 'runs', 'lost', 'repeated wrongly', 'longest recovery (ms)'];

function renderFaultTable(records: readonly FaultRecord[]): string {
  const rows = records.map((record) => [
    record.fault,
    String(record.injected),
    String(record.runs),
    String(record.lost),
    String(record.repeatedWrongly),
    record.recoveryMs === null ? '–' : String(Math.round(record.recoveryMs)),
  ]);
  const widths = HEAD.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string => {
    // Numbers stand to the right, as their column's rule says.
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |\n`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [HEAD, rule, ...rows].map(line).join('');
}
