import { describe, expect, it } from 'vitest';

import { parseSchedule, parseTimeZone, ScheduleError, slotsAfter } from './schedule.ts';

const ANCHOR = new Date('2030-01-01T00:00:00Z');
const iso = (dates: Date[]): string[] => dates.map((date) => date.toISOString());

describe('parseSchedule', () => {
  it.each(['* * * * *', '0 3 * * *', '*/5 0-6 1,15 * MON-FRI', '0 0 29 2 *', ' 0  3 * * * '])(
    'reads %j',
    (text) => {
      expect(parseSchedule(text)).toMatchObject({ kind: 'cron' });
    },
  );

  it.each([
    ['@every 15m', 900_000],
    ['@every 1m', 60_000],
    ['@every 24h', 86_400_000],
    ['@every 90s', 90_000],
  ])('reads %j', (text, everyMs) => {
    expect(parseSchedule(text)).toEqual({ kind: 'every', everyMs });
  });

  it.each([
    '',
    'x',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 31 2 *',
    '0 0 0 * *',
    '@daily',
    '@every',
    '@every 59s',
    '@every 0m',
    '@every 1',
    '@every -5m',
    '@every 9000h',
    '*/0 * * * *',
    '; drop table runs * * *',
  ])('refuses %j', (text) => {
    expect(() => parseSchedule(text)).toThrow(ScheduleError);
  });
});

describe('parseTimeZone', () => {
  it.each(['UTC', 'Europe/Berlin', 'America/New_York'])('takes %s', (name) => {
    expect(parseTimeZone(name)).toBe(name);
  });

  it.each(['', 'Mars/Olympus', '+02:00', 'Europe/Berlin; --'])('refuses %j', (name) => {
    expect(() => parseTimeZone(name)).toThrow(ScheduleError);
  });
});

describe('slotsAfter', () => {
  it('counts @every from the epoch', () => {
    const after = new Date('2030-01-01T00:31:00Z');
    const slots = slotsAfter(parseSchedule('@every 15m'), {
      timezone: 'UTC',
      after,
      count: 2,
    });
    expect(iso(slots)).toEqual(['2030-01-01T00:45:00.000Z', '2030-01-01T01:00:00.000Z']);
  });

  it('never answers the instant itself', () => {
    const schedule = { timezone: 'UTC', after: ANCHOR, count: 1 };
    expect(iso(slotsAfter(parseSchedule('@every 1h'), schedule))).toEqual([
      '2030-01-01T01:00:00.000Z',
    ]);
    expect(iso(slotsAfter(parseSchedule('0 0 * * *'), schedule))).toEqual([
      '2030-01-02T00:00:00.000Z',
    ]);
  });

  it('reads cron in its time zone', () => {
    const slots = slotsAfter(parseSchedule('0 9 * * *'), {
      timezone: 'Europe/Berlin',
      after: new Date('2030-07-01T00:00:00Z'),
      count: 1,
    });
    expect(iso(slots)).toEqual(['2030-07-01T07:00:00.000Z']);
  });

  const berlin = (text: string, after: string, count: number) =>
    iso(
      slotsAfter(parseSchedule(text), {
        timezone: 'Europe/Berlin',
        after: new Date(after),
        count,
      }),
    );

  it('moves a local time that does not exist to the first instant after the gap', () => {
    // 2030-03-31: from 02:00 to 03:00, which is 01:00 UTC.
    expect(berlin('30 2 * * *', '2030-03-30T12:00:00Z', 2)).toEqual([
      '2030-03-31T01:00:00.000Z',
      '2030-04-01T00:30:00.000Z',
    ]);
    expect(berlin('*/30 1-3 * * *', '2030-03-31T00:00:00Z', 4)).toEqual([
      '2030-03-31T00:30:00.000Z',
      '2030-03-31T01:00:00.000Z',
      '2030-03-31T01:30:00.000Z',
      '2030-03-31T23:00:00.000Z',
    ]);
  });

  it('takes a local time that occurs twice once, the first time', () => {
    // 2030-10-27: from 03:00 back to 02:00, which is 01:00 UTC.
    expect(berlin('30 2 * * *', '2030-10-26T12:00:00Z', 2)).toEqual([
      '2030-10-27T00:30:00.000Z',
      '2030-10-28T01:30:00.000Z',
    ]);
    expect(berlin('30 2 * * *', '2030-10-27T00:45:00Z', 1)).toEqual(['2030-10-28T01:30:00.000Z']);
  });
});
