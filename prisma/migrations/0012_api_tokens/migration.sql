-- Tokens by which scripts and services call the operators' API. Of the token itself only a digest is kept.
create table millrace.api_tokens (
  id uuid primary key default millrace.uuid_v7(),
  label text not null check (char_length(label) between 1 and 100),
  digest bytea not null unique check (octet_length(digest) = 32),
  permissions text[] not null check (
    cardinality(permissions) > 0
    and permissions <@ array['ops.jobs.read', 'ops.jobs.write', 'ops.jobs.run', 'ops.admin']),
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoked_by text,
  last_used_at timestamptz,
  constraint api_tokens_expire check (expires_at > created_at),
  constraint api_tokens_revocation_is_whole check ((revoked_at is null) = (revoked_by is null))
);
