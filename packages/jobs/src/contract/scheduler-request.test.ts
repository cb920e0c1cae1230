import { randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JobError } from './errors.ts';
import { parseIdempotencyKey, parseJobId, parseSlot, parseWaitMs } from './scheduler-request.ts';

const KEY_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-'.split(
  '',
);
const key = fc.string({ unit: fc.constantFrom(...KEY_CHARACTERS), minLength: 8, maxLength: 200 });

const codeOf = (work: () => unknown): unknown => {
  try {
    work();
    return 'accepted';
  } catch (error) {
    return error instanceof JobError ? error.code : error;
  }
};

describe('parseIdempotencyKey', () => {
  it('is null without the header', () => {
    expect(parseIdempotencyKey(null)).toBeNull();
  });

  it('reads every key, bare and quoted, with white space around it', () => {
    fc.assert(
      fc.property(key, (text) => {
        expect(parseIdempotencyKey(text)).toBe(text);
        expect(parseIdempotencyKey(`"${text}"`)).toBe(text);
        expect(parseIdempotencyKey(` "${text}" `)).toBe(text);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['an empty string', '""'],
    ['7 characters', 'a'.repeat(7)],
    ['7 quoted characters', `"${'a'.repeat(7)}"`],
    ['201 characters', 'a'.repeat(201)],
    ['a space', 'aaaa bbbb'],
    ['a quote on one side', '"aaaaaaaa'],
    ['quotes twice', '""aaaaaaaa""'],
    ['an escape', '"aaaa\\"bbbb"'],
    ['a parameter', '"aaaaaaaa";x=1'],
    ['two values', 'aaaaaaaa, bbbbbbbb'],
    ['a letter outside ASCII', 'aaaaaaaä'],
    ['a line break', 'aaaaaaaa\nb'],
    ['a slash', '2030/01/01'],
  ])('refuses %s', (_what, header) => {
    expect(codeOf(() => parseIdempotencyKey(header))).toBe('invalid_idempotency_key');
  });

  it('takes 8 and 200 characters', () => {
    for (const length of [8, 200]) {
      expect(parseIdempotencyKey('k'.repeat(length))).toHaveLength(length);
    }
  });

  it('never answers with anything but a key', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const result = codeOf(() => parseIdempotencyKey(header));
        return result === 'accepted'
          ? /^[\w.:-]{8,200}$/.test(parseIdempotencyKey(header) ?? '')
          : result === 'invalid_idempotency_key';
      }),
    );
  });
});

describe('parseSlot', () => {
  const now = new Date('2030-06-15T12:00:00.000Z');
  const slot = (text: string): string | undefined => parseSlot(text, now)?.toISOString();
  const DAY_MS = 86_400_000;

  it('is null without the header', () => {
    expect(parseSlot(null, now)).toBeNull();
  });

  it.each([
    ['2030-06-15T02:00:00Z', '2030-06-15T02:00:00.000Z'],
    ['2030-06-15t02:00:00z', '2030-06-15T02:00:00.000Z'],
    [' 2030-06-15T02:00:00Z ', '2030-06-15T02:00:00.000Z'],
    ['2030-06-15T02:00:00+02:00', '2030-06-15T00:00:00.000Z'],
    ['2030-06-14T23:30:00-05:30', '2030-06-15T05:00:00.000Z'],
    ['2030-06-15T00:30:00+23:59', '2030-06-14T00:31:00.000Z'],
    ['2030-06-15T02:00:00-00:00', '2030-06-15T02:00:00.000Z'],
    ['2030-06-15T02:00:00.5Z', '2030-06-15T02:00:00.500Z'],
    ['2030-06-15T02:00:00.123456789Z', '2030-06-15T02:00:00.123Z'],
    ['2030-06-15T02:00:00.9999Z', '2030-06-15T02:00:00.999Z'],
    ['2030-06-15T11:59:60Z', '2030-06-15T11:59:59.000Z'],
    ['2030-02-28T23:59:59Z', '2030-02-28T23:59:59.000Z'],
  ])('reads %s', (text, instant) => {
    expect(slot(text)).toBe(instant);
  });

  it.each([
    '',
    'now',
    '2030-06-15',
    '2030-06-15T02:00Z',
    '2030-06-15T02:00:00',
    '2030-06-15 02:00:00Z',
    '2030-06-15T02:00:00.Z',
    '2030-06-15T02:00:00+0200',
    '2030-06-15T02:00:00+02',
    '2030-06-15T02:00:00+24:00',
    '2030-06-15T02:00:00+02:60',
    '+2030-06-15T02:00:00Z',
    '2030-6-15T02:00:00Z',
    '2030-00-15T02:00:00Z',
    '2030-13-15T02:00:00Z',
    '2030-06-00T02:00:00Z',
    '2030-06-31T02:00:00Z',
    '2030-02-29T02:00:00Z',
    '2029-02-30T02:00:00Z',
    '2030-06-15T24:00:00Z',
    '2030-06-15T02:60:00Z',
    '2030-06-15T02:00:61Z',
    '1907000000',
    '２０３０-06-15T02:00:00Z',
  ])('refuses %j', (text) => {
    expect(codeOf(() => parseSlot(text, now))).toBe('invalid_slot');
  });

  it('knows leap years', () => {
    const spring = new Date('2028-03-01T00:00:00Z');
    expect(parseSlot('2028-02-29T00:00:00Z', spring)?.toISOString()).toBe(
      '2028-02-29T00:00:00.000Z',
    );
  });

  it.each([
    ['400 days ago', -400 * DAY_MS, 'accepted'],
    ['a millisecond more', -400 * DAY_MS - 1, 'invalid_slot'],
    ['5 minutes ahead', 300_000, 'accepted'],
    ['a millisecond further', 300_001, 'invalid_slot'],
  ])('decides about %s', (_what, offsetMs, verdict) => {
    const text = new Date(now.getTime() + offsetMs).toISOString();
    expect(codeOf(() => parseSlot(text, now))).toBe(verdict);
  });

  it('reads every instant of the window, whatever the offset it is written with', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -400 * DAY_MS, max: 300_000 }),
        fc.integer({ min: -1_439, max: 1_439 }),
        (ageMs, offsetMinutes) => {
          const instant = new Date(now.getTime() + ageMs);
          expect(slot(written(instant, offsetMinutes))).toBe(instant.toISOString());
        },
      ),
    );
  });

  it('reads every millisecond', () => {
    for (let ms = 0; ms < 1_000; ms++) {
      const text = `2030-06-15T02:00:00.${String(ms).padStart(3, '0')}Z`;
      expect(slot(text)).toBe(text);
    }
  });

  it('throws nothing but invalid_slot', () => {
    fc.assert(
      fc.property(fc.string(), (text) =>
        ['accepted', 'invalid_slot'].includes(codeOf(() => parseSlot(text, now)) as string),
      ),
    );
  });
});

/** RFC 3339 with the offset, computed apart from the parser. */
function written(instant: Date, offsetMinutes: number): string {
  const local = new Date(instant.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
  const distance = Math.abs(offsetMinutes);
  const two = (value: number): string => String(value).padStart(2, '0');
  const sign = offsetMinutes < 0 ? '-' : '+';
  return `${local}${sign}${two(Math.floor(distance / 60))}:${two(distance % 60)}`;
}

describe('parseJobId', () => {
  it('takes a UUID in lower case', () => {
    const id = randomUUID();
    expect(parseJobId(id)).toBe(id);
  });

  it.each([
    ['nothing', ''],
    ['capitals', 'A0000000-0000-7000-8000-000000000000'],
    ['braces', '{a0000000-0000-7000-8000-000000000000}'],
    ['no hyphens', 'a0000000000070008000000000000000'],
    ['a line break after it', 'a0000000-0000-7000-8000-000000000000\n'],
    ['SQL', "' or true --"],
  ])('refuses %s', (_what, text) => {
    expect(codeOf(() => parseJobId(text))).toBe('invalid_job_id');
  });
});

describe('parseWaitMs', () => {
  it.each([
    [null, 0],
    ['0', 0],
    ['20', 20_000],
    ['05', 5_000],
    ['25', 25_000],
  ])('reads %j', (parameter, ms) => {
    expect(parseWaitMs(parameter)).toBe(ms);
  });

  it.each(['', '26', '-1', '1.5', '1e1', ' 5', '5s', '100', '٣'])('refuses %j', (parameter) => {
    expect(codeOf(() => parseWaitMs(parameter))).toBe('invalid_wait');
  });
});
