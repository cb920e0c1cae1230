/**
 * $1 action, $2 outcome, $3 actor's kind, $4 id, $5 label, $6 subject's kind, $7 id, $8 reason,
 * $9 request id, $10 detail.
 */
export const recordAudit = {
  name: 'millrace_record_audit',
  text: `
insert into millrace.audit_events
  (action, outcome, actor_kind, actor_id, actor_label, subject_kind, subject, reason, request_id, detail)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
} as const;
