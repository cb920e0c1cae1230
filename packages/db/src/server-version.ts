import type pg from 'pg';

const MINIMUM = 14;

/** Says in one sentence why this PostgreSQL cannot be used, or null. */
export async function serverVersionFault(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ number: number }>(
    "select current_setting('server_version_num')::integer as number",
  );
  const major = Math.floor((rows[0]?.number ?? 0) / 10_000);
  return major < MINIMUM
    ? `The database runs PostgreSQL ${major}; Millrace needs ${MINIMUM} or newer`
    : null;
}
