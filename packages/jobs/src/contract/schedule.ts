import { type CronExpression, CronExpressionParser } from 'cron-parser';

import { type Duration, durationMs } from './duration.ts';
import { instantOfLocal, offsetMs } from './local-time.ts';

/** No schedule is denser. Cron in five fields cannot be. */
export const MIN_INTERVAL_MS = 60_000;
const MAX_INTERVAL_MS = 366 * 86_400_000;

/** When runs start by themselves: at instants of a calendar, or at equal distances. */
export type Schedule =
  | { readonly kind: 'cron'; readonly expression: string }
  | { readonly kind: 'every'; readonly everyMs: number };

/** A schedule or time zone that cannot be used; `message` says why and what to write instead. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

/**
 * Reads a five-field cron expression (minute, hour, day of month, month, day of week) or `@every` with a
 * duration of 1 minute or more. Throws a {@link ScheduleError}, also for dates that never come.
 */
export function parseSchedule(text: string): Schedule {
  const every = /^@every\s+(\S+)$/.exec(text.trim());
  if (every) return { kind: 'every', everyMs: everyMs(every[1] as Duration) };
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || text.trim().startsWith('@')) {
    throw new ScheduleError(
      `"${text}" is not a schedule: write five cron fields (minute hour day month weekday) or "@every 15m"`,
    );
  }
  const expression = fields.join(' ');
  try {
    cron(expression, 'UTC', new Date()).next();
  } catch (error) {
    throw new ScheduleError(`"${text}" is not a cron expression: ${reason(error)}`);
  }
  return { kind: 'cron', expression };
}

function everyMs(duration: Duration): number {
  let ms: number;
  try {
    ms = durationMs(duration);
  } catch (error) {
    throw new ScheduleError(`@every: ${reason(error)}`);
  }
  if (ms < MIN_INTERVAL_MS || ms > MAX_INTERVAL_MS) {
    throw new ScheduleError(`"@every ${duration}" must be 1m to 366 days`);
  }
  return ms;
}

/** Refuses what is not an IANA time zone of this process's data, with a {@link ScheduleError}. */
export function parseTimeZone(name: string): string {
  try {
    // Offsets such as "+02:00" would be accepted, but know no daylight saving time.
    if (/^[A-Za-z]/.test(name)) {
      offsetMs(0, name);
      return name;
    }
  } catch {
    // named below
  }
  throw new ScheduleError(
    `"${name}" is not a time zone: write a name such as Europe/Berlin or UTC`,
  );
}

/**
 * The next slots after an instant. `@every` counts from the Unix epoch, so that it neither drifts nor
 * starts anew with a process. Cron is read in local time: a time that a clock change leaves out is the first
 * instant after the change, one that occurs twice is the first of both, and what falls on one instant is
 * one slot.
 */
export function slotsAfter(schedule: Schedule, { timezone, after, count }: SlotsAfter): Date[] {
  if (schedule.kind === 'every') {
    const first = Math.floor(after.getTime() / schedule.everyMs) + 1;
    return Array.from(
      { length: count },
      (_, index) => new Date((first + index) * schedule.everyMs),
    );
  }
  const slots: Date[] = [];
  let last = after.getTime();
  for (const local of localTimes(schedule.expression, last + offsetMs(last, timezone))) {
    const instant = instantOfLocal(local, timezone);
    if (instant <= last) continue;
    slots.push(new Date((last = instant)));
    if (slots.length === count) break;
  }
  return slots;
}

/** No clock goes back by more; local times of that long before may be instants still to come. */
const MAX_CHANGE_MS = 3 * 3_600_000;

/** The local times of a cron expression, as UTC would name them, from a while before one of them on. */
function* localTimes(expression: string, from: number): Generator<number> {
  const times = cron(expression, 'UTC', new Date(from - MAX_CHANGE_MS));
  for (;;) yield times.next().getTime();
}

interface SlotsAfter {
  readonly timezone: string;
  readonly after: Date;
  readonly count: number;
}

function cron(expression: string, tz: string, currentDate: Date): CronExpression {
  return CronExpressionParser.parse(expression, { tz, currentDate });
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
