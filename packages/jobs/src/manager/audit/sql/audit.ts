export interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly action: string;
  readonly outcome: 'done' | 'denied';
  readonly actorKind: string;
  readonly actorId: string;
  readonly actorLabel: string;
  readonly subjectKind: string;
  readonly subject: string;
  readonly reason: string | null;
  readonly requestId: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What can be asked for, and the condition that asks for it. Only what is given stands in the statement. */
const CONDITIONS = {
  action: 'e.action = ',
  outcome: 'e.outcome = ',
  actorId: 'e.actor_id = ',
  subjectKind: 'e.subject_kind = ',
  subject: 'e.subject = ',
  from: 'e.at >= ',
  to: 'e.at < ',
  below: 'e.id < ',
} as const;
export type AuditConditions = Partial<Record<keyof typeof CONDITIONS, unknown>>;

/** The latest events first, for which all of it holds. */
export function listAudit(given: AuditConditions, limit: number) {
  const values: unknown[] = [limit];
  const where = (Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[])
    .filter((key) => given[key] !== undefined)
    .map((key) => `${CONDITIONS[key]}$${values.push(given[key])}`);
  return {
    text: `
select e.id, e.at, e.action, e.outcome, e.actor_kind as "actorKind", e.actor_id as "actorId",
       e.actor_label as "actorLabel", e.subject_kind as "subjectKind", e.subject, e.reason,
       e.request_id as "requestId", e.detail
  from millrace.audit_events e ${where.length > 0 ? `where ${where.join(' and ')}` : ''}
 order by e.id desc limit $1`,
    values,
  };
}
