const formats = new Map<string, Intl.DateTimeFormat>();

/** By how many milliseconds local time is ahead of UTC at that instant. */
export function offsetMs(instant: number, timezone: string): number {
  let format = formats.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      era: 'short',
    });
    formats.set(timezone, format);
  }
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instant)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  // Whole seconds: an instant before 1970 may have a negative remainder.
  const wholeSeconds = Math.floor(instant / 1_000) * 1_000;
  return Date.UTC(year, month - 1, day, hour, minute, second) - wholeSeconds;
}

const DAY_MS = 86_400_000;

/**
 * The instant of a local time, which is given as the milliseconds that UTC would have for the same
 * figures. Of a local time that occurs twice it is the first; of one that a clock change leaves out, the
 * first instant after the change. Zones change their offset at most once within two days.
 */
export function instantOfLocal(local: number, timezone: string): number {
  const before = offsetMs(local - DAY_MS, timezone);
  const after = offsetMs(local + DAY_MS, timezone);
  const candidates = [local - before, local - after]
    .filter((instant) => offsetMs(instant, timezone) === local - instant)
    .toSorted((a, b) => a - b);
  return candidates[0] ?? changeBetween(local - DAY_MS, local + DAY_MS, timezone);
}

/** The first instant that has the later offset. */
function changeBetween(from: number, to: number, timezone: string): number {
  const later = offsetMs(to, timezone);
  let low = Math.floor(from / 1_000);
  let high = Math.floor(to / 1_000);
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle * 1_000, timezone) === later) high = middle;
    else low = middle;
  }
  return high * 1_000;
}
