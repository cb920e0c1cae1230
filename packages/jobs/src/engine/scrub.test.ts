import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { scrub, scrubDeep, secretsIn, storable } from './scrub.ts';

describe('secretsIn', () => {
  it('finds every longer string, longest first, each once', () => {
    const args = {
      to: 'ann@example.org',
      tags: ['news', 'abc', 'ann@example.org'],
      nested: [{ note: 'a longer note' }],
      count: 12_345,
      ok: true,
      none: null,
    };
    expect(secretsIn(args)).toEqual([
      'ann%40example.org',
      'a%20longer%20note',
      'ann@example.org',
      'a longer note',
      'news',
    ]);
  });

  it('finds them as JSON writes them', () => {
    const secret = 'say "hi"\\now';
    expect(scrub(JSON.stringify({ secret }), secretsIn({ secret }))).toBe(
      '{"secret":"[redacted]"}',
    );
  });

  it('finds the lines of a longer text, which errors quote one by one', () => {
    const body = 'Dear Ann,\nyour password is swordfish\r\nBye\n';
    const told = scrub('at line 2: your password is swordfish', secretsIn({ body }));
    expect(told).toBe('at line 2: [redacted]');
    expect(secretsIn({ body })).not.toContain('Bye');
  });

  it('takes keys that no program would write for data', () => {
    const found = secretsIn({ recipients: { 'ann@example.org': 1 }, 'bob-smith': true });
    expect(found).toEqual(expect.arrayContaining(['ann@example.org', 'bob-smith']));
    expect(found).not.toContain('recipients');
  });

  it.each([undefined, null, 1, true, 'abc', [], {}])('finds nothing in %j', (value) => {
    expect(secretsIn(value)).toEqual([]);
  });

  it('takes a bare string', () => {
    expect(secretsIn('abcd')).toEqual(['abcd']);
  });

  it('orders any value so that no secret follows one that contains it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const found = secretsIn(value);
        return found.every((secret, index) =>
          found.slice(index + 1).every((next) => !next.includes(secret)),
        );
      }),
    );
  });
});

describe('scrub', () => {
  it('replaces every occurrence, of the longer secret first', () => {
    expect(scrub('ann ann-lee ann', ['ann-lee', 'ann'])).toBe('[redacted] [redacted] [redacted]');
  });

  it('takes secrets literally', () => {
    expect(scrub('a.b axb $& (x)', ['a.b', '$&', '(x)'])).toBe(
      '[redacted] axb [redacted] [redacted]',
    );
  });

  it('leaves no secret in any text', () => {
    const word = fc.string({
      unit: fc.constantFrom('x', 'y', '1', '.', ' '),
      minLength: 4,
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), fc.string(), (words, between) => {
        const secrets = secretsIn(words);
        const rest = scrub(words.join(between), secrets);
        return secrets.every((secret) => !rest.includes(secret));
      }),
    );
  });

  it('leaves no secret of very many in any text, and the rest as it is', () => {
    const many = Array.from({ length: 5_000 }, (_, n) => `person${n}@example.org`);
    const secrets = secretsIn(many);
    const between = fc.string({ unit: fc.constantFrom('x', ' ', '@'), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(4_999), between), { maxLength: 9 }), (parts) => {
        const text = parts.map(([n, after]) => `${many[n]}${after}`).join('');
        expect(scrub(text, secrets)).toBe(parts.map(([, after]) => `[redacted]${after}`).join(''));
      }),
    );
  });
});

describe('storable', () => {
  it('replaces NUL and halves of surrogate pairs, and nothing else', () => {
    expect(storable('a\0b\uD83Dc\uDE00d😀e')).toBe('a\uFFFDb\uFFFDc\uFFFDd😀e');
  });
});

describe('scrubDeep', () => {
  it('scrubs strings and keys at every depth and keeps the rest', () => {
    expect(
      scrubDeep({ to: 'mail to ann@x', 'ann@x': [1, true, null, { deep: 'ann@x\0' }] }, ['ann@x']),
    ).toEqual({
      to: 'mail to [redacted]',
      '[redacted]': [1, true, null, { deep: '[redacted]\uFFFD' }],
    });
  });

  it('keeps plain data without secrets as it is', () => {
    const value = fc.jsonValue().filter((any) => !/\\u(0000|d[89a-f])/.test(JSON.stringify(any)));
    fc.assert(
      fc.property(value, (any) => {
        expect(scrubDeep(any, [])).toEqual(any);
      }),
    );
  });

  it('does not touch the prototype', () => {
    const scrubbed = scrubDeep(JSON.parse('{"__proto__":{"polluted":1}}'), []) as object;
    expect(Object.keys(scrubbed)).toEqual(['__proto__']);
    expect('polluted' in scrubbed).toBe(false);
  });
});
