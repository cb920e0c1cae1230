import { RUN_STATES, type ShownStatus } from '@millrace/jobs/contract/run-state';
import { z } from 'zod';

/** The states as tabs show them: from what waits to what is over. */
export const SHOWN_STATES = ['scheduled', ...RUN_STATES] as const satisfies ShownStatus[];

/** What the address of the list says: which state, and from where on. */
export interface RunsQuery {
  readonly state?: ShownStatus | undefined;
  readonly cursor?: string | undefined;
}

const query = z.object({
  state: z.enum(SHOWN_STATES).optional(),
  cursor: z.string().min(1).max(100).optional(),
});

/** Null when the address says something that no list is about. Unknown parameters are ignored. */
export function parseRunsQuery(parameters: Readonly<Record<string, unknown>>): RunsQuery | null {
  return query.safeParse(parameters).data ?? null;
}

/** The address of that list. */
export function runsHref({ state, cursor }: RunsQuery): string {
  const parameters = Object.entries({ state, cursor }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return parameters.length > 0 ? `/?${new URLSearchParams(parameters).toString()}` : '/';
}
