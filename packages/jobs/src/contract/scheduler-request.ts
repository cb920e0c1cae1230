import { JobError } from './errors.ts';

const IDEMPOTENCY_KEY = /^[A-Za-z0-9._:-]{8,200}$/;

/**
 * The value of an `Idempotency-Key` header: bare, or quoted as a structured-field string (RFC 8941).
 * Null when the header is absent; throws `invalid_idempotency_key`.
 */
export function parseIdempotencyKey(header: string | null): string | null {
  if (header === null) return null;
  const key = /^"(.*)"$/.exec(header.trim())?.[1] ?? header.trim();
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new JobError(
      'invalid_idempotency_key',
      'Idempotency-Key must have 8 to 200 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-".',
    );
  }
  return key;
}

// RFC 3339, section 5.6; a leap second is taken as the second before it, as PostgreSQL has none.
const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-](\d{2}):(\d{2}))$/;
const OLDEST_MS = 400 * 86_400_000;
const AHEAD_MS = 5 * 60_000;

/**
 * The instant of an `X-Scheduled-For` header (RFC 3339), between 400 days ago and 5 minutes ahead.
 * Null when the header is absent; throws `invalid_slot`.
 */
export function parseSlot(header: string | null, now: Date): Date | null {
  if (header === null) return null;
  const slot = parseInstant(header.trim());
  if (!slot) {
    throw new JobError(
      'invalid_slot',
      'X-Scheduled-For must be an RFC 3339 instant such as 2030-01-31T02:00:00Z.',
    );
  }
  const ageMs = now.getTime() - slot.getTime();
  if (ageMs > OLDEST_MS || ageMs < -AHEAD_MS) {
    throw new JobError(
      'invalid_slot',
      'X-Scheduled-For must lie between 400 days ago and 5 minutes ahead.',
    );
  }
  return slot;
}

function parseInstant(text: string): Date | null {
  const match = RFC_3339.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const zoneHour = Number(match[9] ?? 0);
  const zoneMinute = Number(match[10] ?? 0);
  const exists =
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysInMonth &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 60 &&
    zoneHour <= 23 &&
    zoneMinute <= 59;
  if (!exists) return null;
  const zoneMs = (zoneHour * 60 + zoneMinute) * 60_000 * (match[8]?.startsWith('-') ? -1 : 1);
  const fractionMs = Math.trunc(Number(match[7] ?? 0) * 1_000);
  const utc = Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59), fractionMs);
  return new Date(utc - zoneMs);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id of a run in a path; throws `invalid_job_id`. */
export function parseJobId(text: string): string {
  if (!UUID.test(text)) throw new JobError('invalid_job_id', 'A job id is a UUID in lower case.');
  return text;
}

const MAX_WAIT_S = 25;

/** Milliseconds of a `wait` parameter in seconds, 0 to 25; 0 when absent. Throws `invalid_wait`. */
export function parseWaitMs(parameter: string | null): number {
  if (parameter === null) return 0;
  if (!/^\d{1,2}$/.test(parameter) || Number(parameter) > MAX_WAIT_S) {
    throw new JobError('invalid_wait', `wait takes whole seconds from 0 to ${MAX_WAIT_S}.`);
  }
  return Number(parameter) * 1_000;
}
