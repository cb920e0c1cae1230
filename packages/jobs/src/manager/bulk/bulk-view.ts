import type { BulkRow } from './sql/bulk-actions.ts';

/** A bulk action with its progress: `total` = `done` + `skipped` + `remaining`, always. */
export interface BulkView {
  readonly id: string;
  readonly action: 'retry' | 'cancel';
  /** Without the ids; see `idCount`. */
  readonly filter: Readonly<Record<string, unknown>>;
  /** How many ids the filter names; null: none. */
  readonly idCount: number | null;
  readonly state: 'running' | 'done' | 'aborted';
  /** Runs that matched at the start. */
  readonly total: number;
  /** Retried, cancelled, or running and asked to end. */
  readonly done: number;
  readonly skipped: number;
  /** The skipped by code: erased, inline, duplicate, changed, wrong_state, unknown. */
  readonly skips: Readonly<Record<string, number>>;
  /** Of an aborted one: left as they were. */
  readonly remaining: number;
  /** Runs per second. */
  readonly rate: number;
  readonly reason: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly label: string };
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** By the rate, while it is running. */
  readonly estimatedEndAt: Date | null;
}

export function toBulkView({ actorKind, actorId, actorLabel, ...row }: BulkRow): BulkView {
  return {
    ...row,
    action: row.action as BulkView['action'], // as the database's check constraints allow
    state: row.state as BulkView['state'],
    actor: { kind: actorKind, id: actorId, label: actorLabel },
  };
}
