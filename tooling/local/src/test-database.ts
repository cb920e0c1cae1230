import { startPostgres, type EmbeddedPostgres } from './embedded-postgres.ts';

/** A server whose data may be lost: nothing waits for a disk. */
export function startTestDatabase(
  dataDir: string,
  log: (line: string) => void,
): Promise<EmbeddedPostgres> {
  return startPostgres({
    dataDir,
    log,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '200',
    },
  });
}
