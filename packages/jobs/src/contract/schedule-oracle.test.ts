import { describe, expect, it } from 'vitest';

import { offsetMs } from './local-time.ts';
import { parseSchedule, slotsAfter } from './schedule.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 86_400_000;
const FROM = Date.UTC(2020, 0, 1);
const TO = Date.UTC(2041, 0, 1);

interface Change {
  readonly zone: string;
  readonly at: number;
  /** By how much the clock goes forward (or back, negative). */
  readonly byMs: number;
}

/** Every kind of clock change of every zone, once: zones that change together count as one. */
function changes(): Change[] {
  const found = new Map<string, Change>();
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    let before = offsetMs(FROM, zone);
    for (let time = FROM + WEEK_MS; time < TO; time += WEEK_MS) {
      const offset = offsetMs(time, zone);
      if (offset === before) continue;
      let [low, high] = [time - WEEK_MS, time];
      while (high - low > MINUTE_MS) {
        const middle = low + Math.floor((high - low) / MINUTE_MS / 2) * MINUTE_MS;
        if (offsetMs(middle, zone) === before) low = middle;
        else high = middle;
      }
      const change = { zone, at: high, byMs: offset - before };
      found.set(`${high} ${before} ${offset}`, change);
      before = offset;
    }
  }
  return [...found.values()];
}

/** What the oracle understands of cron: lists, ranges and steps of minutes and hours. */
function matches(field: string, value: number, max: number): boolean {
  return field.split(',').some((part) => {
    const [range = '*', step = '1'] = part.split('/');
    const [low, high = low] = range === '*' ? [0, max] : range.split('-').map(Number);
    return (
      value >= (low ?? 0) && value <= (high ?? max) && (value - (low ?? 0)) % Number(step) === 0
    );
  });
}

/**
 * The slots between two instants by walking through time, minute by minute, as a clock on a wall would
 * show them: a local minute that is seen for the first time, or was jumped over just now.
 */
function walk(expression: string, { from, locals }: Wall): string[] {
  const [minutes = '', hours = ''] = expression.split(' ');
  const fits = (local: number): boolean => {
    const date = new Date(local);
    return matches(minutes, date.getUTCMinutes(), 59) && matches(hours, date.getUTCHours(), 23);
  };
  const slots: string[] = [];
  let newest = (locals[0] ?? 0) - MINUTE_MS;
  for (const [index, local] of locals.entries()) {
    const time = from - LEAD_MS + index * MINUTE_MS;
    let due = false;
    for (let shown = newest + MINUTE_MS; shown <= local; shown += MINUTE_MS) due ||= fits(shown);
    newest = Math.max(newest, local);
    // The oldest local minutes were seen before the walk began.
    if (due && time > from) slots.push(new Date(time).toISOString());
  }
  return slots;
}

const LEAD_MS = 4 * HOUR_MS;

/** Local time, minute by minute, from a while before `from` until `to`. */
interface Wall {
  readonly zone: string;
  readonly from: number;
  readonly to: number;
  readonly locals: readonly number[];
}

function wallAround({ zone, at }: Change): Wall {
  const [from, to] = [at - 5 * HOUR_MS, at + 6 * HOUR_MS];
  const locals: number[] = [];
  for (let time = from - LEAD_MS; time <= to; time += MINUTE_MS) {
    locals.push(time + offsetMs(time, zone));
  }
  return { zone, from, to, locals };
}

const EXPRESSIONS = [
  '30 2 * * *',
  '0 * * * *',
  '*/20 0-4 * * *',
  '15,45 1-3,23 * * *',
  '0 0 * * *',
];

describe('slotsAfter', () => {
  const all = changes();
  const walls = all.map(wallAround);

  it('knows the clock changes of the world', () => {
    expect(all.length).toBeGreaterThan(300);
    expect(all.some(({ byMs }) => byMs === -HOUR_MS)).toBe(true);
    expect(all.some(({ byMs }) => byMs === HOUR_MS / 2)).toBe(true);
  });

  it.each(EXPRESSIONS)('agrees with a walk through every clock change: %s', (expression) => {
    const schedule = parseSchedule(expression);
    const wrong = walls.filter((wall) => {
      const expected = walk(expression, wall);
      const slots = slotsAfter(schedule, {
        timezone: wall.zone,
        after: new Date(wall.from),
        count: expected.length + 1,
      });
      const inside = slots.filter((slot) => slot.getTime() <= wall.to);
      return JSON.stringify(inside) !== JSON.stringify(expected);
    });
    expect(wrong.map(({ zone, from }) => `${zone} ${new Date(from).toISOString()}`)).toEqual([]);
  });
});
