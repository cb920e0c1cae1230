const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time with the two units that matter: `12 ms`, `4.2 s`, `3 min 05 s`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return twoUnits(seconds, 60, 'min', 1, 's');
  if (seconds < 86_400) return twoUnits(seconds, 3_600, 'h', 60, 'min');
  return twoUnits(seconds, 86_400, 'd', 3_600, 'h');
}

function twoUnits(
  seconds: number,
  large: number,
  largeUnit: string,
  small: number,
  smallUnit: string,
): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${largeUnit} ${String(rest).padStart(2, '0')} ${smallUnit}`;
}

/** An instant as it lies from now: `just now`, `40 s ago`, `in 5 min`. */
export function formatRelative(instant: Date, now: Date): string {
  const ms = now.getTime() - instant.getTime();
  const distance = Math.abs(ms);
  if (ms >= 0 && ms < SECOND) return 'just now';
  const [unitMs, unit] =
    distance < MINUTE
      ? [SECOND, 's']
      : distance < HOUR
        ? [MINUTE, 'min']
        : distance < DAY
          ? [HOUR, 'h']
          : [DAY, 'd'];
  const text = `${Math.max(1, Math.floor(distance / unitMs))} ${unit}`;
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

/** An instant in full, with its zone: `2030-01-31 02:00:00.120 UTC`. */
export function formatInstant(instant: Date): string {
  return instant.toISOString().replace('T', ' ').replace('Z', ' UTC');
}
