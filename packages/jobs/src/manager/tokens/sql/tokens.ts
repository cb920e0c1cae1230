/** An API token as it is shown: never the token itself. */
export interface TokenRow {
  readonly id: string;
  readonly label: string;
  readonly permissions: readonly string[];
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly revokedBy: string | null;
  readonly lastUsedAt: Date | null;
}

const COLUMNS = `t.id, t.label, t.permissions, t.created_at as "createdAt", t.created_by as "createdBy",
       t.expires_at as "expiresAt", t.revoked_at as "revokedAt", t.revoked_by as "revokedBy",
       t.last_used_at as "lastUsedAt"`;

/** $1 label, $2 digest, $3 permissions, $4 days until it expires, $5 who creates it. */
export const insertToken = {
  name: 'millrace_insert_token',
  text: `
insert into millrace.api_tokens as t (label, digest, permissions, expires_at, created_by)
values ($1, $2, $3, clock_timestamp() + make_interval(days => $4), $5)
returning ${COLUMNS}`,
} as const;

/** $1 limit. The latest first. */
export const listTokens = {
  name: 'millrace_list_tokens',
  text: `select ${COLUMNS} from millrace.api_tokens t order by t.id desc limit $1`,
} as const;

/** $1 token, $2 who revokes it. `changed`: it was not revoked before. No row: there is none. */
export const revokeToken = {
  name: 'millrace_revoke_token',
  text: `
with found as (
  select t.id, t.label, t.revoked_at is null as changed from millrace.api_tokens t where t.id = $1 for update
),
revoked as (
  update millrace.api_tokens t set revoked_at = clock_timestamp(), revoked_by = $2
    from found f where t.id = f.id and f.changed
)
select f.id, f.label, f.changed from found f`,
} as const;

/**
 * $1 digest. The valid token with it, if there is one; notes its use, but not more often than once a
 * minute, so that reading does not become writing.
 */
export const findToken = {
  name: 'millrace_find_token',
  text: `
with found as (
  select t.id, t.label, t.permissions, t.last_used_at from millrace.api_tokens t
   where t.digest = $1 and t.revoked_at is null and t.expires_at > clock_timestamp()
),
used as (
  update millrace.api_tokens t set last_used_at = clock_timestamp()
    from found f
   where t.id = f.id and (f.last_used_at is null or f.last_used_at < clock_timestamp() - interval '1 minute')
)
select f.id, f.label, f.permissions from found f`,
} as const;
