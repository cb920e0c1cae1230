export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** A log line as it is stored, without any string of the run's arguments. */
export interface LogLine {
  readonly runId: string;
  readonly execution: number;
  readonly seq: number;
  readonly at: Date;
  readonly level: LogLevel;
  readonly message: string;
  /** JSON. */
  readonly fields: string | null;
}

/**
 * Arrays of the same order: $1 run, $2 execution, $3 seq, $4 at, $5 level, $6 message, $7 fields. What a
 * repeated statement finds written stays.
 */
export const insertLogLines = {
  name: 'millrace_insert_log_lines',
  text: `
insert into millrace.run_log (run_id, execution, seq, at, level, message, fields)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[], $5::text[],
                     $6::text[], $7::jsonb[])
on conflict do nothing`,
} as const;

/** The parameters of {@link insertLogLines}. */
export function lineValues(lines: readonly LogLine[]): unknown[] {
  return [
    lines.map(({ runId }) => runId),
    lines.map(({ execution }) => execution),
    lines.map(({ seq }) => seq),
    lines.map(({ at }) => at),
    lines.map(({ level }) => level),
    lines.map(({ message }) => message),
    lines.map(({ fields }) => fields),
  ];
}

export interface ProgressNote {
  readonly runId: string;
  readonly execution: number;
  readonly done: number;
  readonly total: number | null;
  readonly note: string | null;
}

/**
 * Arrays of the same order, each run once, sorted: $1 run, $2 execution, $3 done, $4 total, $5 note. A
 * late word of an earlier execution changes nothing.
 */
export const upsertProgress = {
  name: 'millrace_upsert_progress',
  text: `
insert into millrace.run_progress as p (run_id, execution, done, total, note)
select * from unnest($1::uuid[], $2::integer[], $3::double precision[], $4::double precision[],
                     $5::text[])
on conflict (run_id) do update
   set execution = excluded.execution, done = excluded.done, total = excluded.total,
       note = excluded.note, at = clock_timestamp()
 where p.execution <= excluded.execution`,
} as const;

/** The parameters of {@link upsertProgress}. */
export function progressValues(notes: readonly ProgressNote[]): unknown[] {
  const sorted = notes.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  return [
    sorted.map(({ runId }) => runId),
    sorted.map(({ execution }) => execution),
    sorted.map(({ done }) => done),
    sorted.map(({ total }) => total),
    sorted.map(({ note }) => note),
  ];
}
