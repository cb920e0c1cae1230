import type { AnyDefinition } from '@millrace/jobs/contract/definition';

/** A command for a terminal that triggers some queued job, with the secret as a variable only. */
export function firstRunCommand(
  definitions: Iterable<AnyDefinition>,
  origin: string,
  needsSecret: boolean,
): string {
  const triggered = [...definitions].filter(({ clock }) => clock === 'kestra');
  const job = triggered.find(({ form }) => form === 'queued') ?? triggered[0];
  const secret = needsSecret ? ' \\\n  -H "Authorization: Bearer $SCHEDULER_TOKEN"' : '';
  return `curl -i -X POST ${origin}/internal/jobs/${job?.name ?? '<job>'}${secret}`;
}
