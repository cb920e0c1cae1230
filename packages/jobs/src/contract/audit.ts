/** Every action that the audit knows, with the sentence that people read. */
export const AUDIT_ACTIONS = {
  'jobs.definition.changed': 'changed the configuration of',
  'jobs.definition.run_requested': 'started a run of',
  'jobs.slot.caught_up': 'started the run of a slot of',
  'jobs.slot.skipped': 'skipped a slot of',
  'jobs.run.retried': 'retried',
  'jobs.run.cancelled': 'cancelled',
  'jobs.bulk.started': 'started the bulk action',
  'jobs.bulk.aborted': 'aborted the bulk action',
  'jobs.queue.paused': 'paused the queue',
  'jobs.queue.resumed': 'resumed the queue',
  'jobs.worker.drained': 'asked to drain the worker',
  'admin.token.created': 'created the API token',
  'admin.token.revoked': 'revoked the API token',
} as const;
export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** What an action was about. */
export interface AuditSubject {
  readonly kind: 'definition' | 'run' | 'bulk' | 'queue' | 'worker' | 'token' | 'verb';
  readonly id: string;
}

/** What a verb that changed something has to say about it. */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly subject: AuditSubject;
  readonly reason?: string | null;
  /** Plain data without anything of a run's arguments. */
  readonly detail?: Readonly<Record<string, unknown>>;
}
