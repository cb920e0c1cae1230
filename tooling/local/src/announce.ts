export interface Running {
  readonly port: number;
  readonly token: string | undefined;
  readonly databaseUrl: string | null;
  readonly logs: string;
  /** The file with a token for the operators' API, if one was made. */
  readonly opsToken: string | null;
}

/** What a person reads when everything runs. */
export function announcement({ port, token, databaseUrl, logs, opsToken }: Running): string {
  const origin = `http://localhost:${port}`;
  const authorization = token === undefined ? '' : ` -H "Authorization: Bearer ${token}"`;
  return [
    `ready: ${origin}`,
    '',
    `  Recent runs   ${origin}/`,
    `  Start a job   curl -i -X POST${authorization} ${origin}/internal/jobs/reindex_runs`,
    `  Follow it     curl${authorization} "${origin}<its Location>?wait=20"   until "done":true`,
    ...(opsToken
      ? [
          `  Operate it    curl -H "Authorization: Bearer $(cat '${opsToken}')" ${origin}/ops/queues`,
        ]
      : []),
    // A given one is known to who gave it, and its password stays off the screen.
    `  Database      ${databaseUrl ?? 'the one of DATABASE_URL'}`,
    `  Logs          ${logs}`,
    '',
    'Ctrl-C stops',
  ].join('\n');
}
