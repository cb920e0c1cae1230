import { inspect } from 'node:util';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { describeError, toError } from './describe-error.ts';

const unreadable = { name: 'Error', message: 'an error that cannot be read was thrown' };
const throwing = (): never => {
  throw new Error('from a getter');
};
/** What PostgreSQL takes as jsonb. */
const storable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

describe('describeError', () => {
  it('gives name, message and stack', () => {
    const error = new RangeError('too far');
    expect(describeError(error, [])).toEqual({
      name: 'RangeError',
      message: 'too far',
      stack: error.stack,
    });
  });

  it('tells the causes', () => {
    const error = new Error('outer', { cause: new TypeError('inner', { cause: 'no error' }) });
    const { stack } = describeError(error, []);
    expect(stack).toMatch(/Error: outer[\s\S]*caused by: TypeError: inner/);
  });

  it('ends a circle of causes', () => {
    const error = new Error('round');
    error.cause = error;
    expect(describeError(error, []).stack.split('caused by: ')).toHaveLength(5);
  });

  it.each([
    ['a string', 'a plain text', /'a plain text'/],
    ['null', null, /null/],
    ['undefined', undefined, /undefined/],
    ['a number', 42, /42/],
    ['a symbol', Symbol('sign'), /Symbol\(sign\)/],
    ['an object', { code: 'E1' }, /code: 'E1'/],
    ['a function', () => 1, /Function/],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }) as object, /a: 1/],
  ])('says that %s is no error and shows it', (_what, thrown, shown) => {
    const described = describeError(thrown, []);
    expect(described.name).toBe('Error');
    expect(described.message).toMatch(/^a value that is no Error was thrown: /);
    expect(described.message).toMatch(shown);
    expect(described.stack).toContain('describe-error');
  });

  it.each([
    ['a throwing message', Object.defineProperty(new Error(), 'message', { get: throwing })],
    ['a throwing name', Object.defineProperty(new Error(), 'name', { get: throwing })],
    ['a throwing stack', Object.defineProperty(new Error(), 'stack', { get: throwing })],
    ['a throwing cause', Object.defineProperty(new Error(), 'cause', { get: throwing })],
    ['a message that is no text', Object.assign(new Error(), { message: { toString: throwing } })],
    ['a throwing inspection', { [inspect.custom]: throwing }],
    ['a prototype that cannot be asked', new Proxy({}, { getPrototypeOf: throwing })],
  ])('survives %s', (_what, thrown) => {
    const { name, message } = describeError(thrown, []);
    expect({ name, message }).toEqual(unreadable);
  });

  it('writes a message that is no text as text', () => {
    const error = Object.assign(new Error(), { message: 12, name: Symbol('n'), stack: undefined });
    expect(describeError(error, [])).toEqual({ name: 'Symbol(n)', message: '12', stack: '12' });
  });

  it('removes the secrets from message, stack, name and causes', () => {
    const secret = 'ann@example.org';
    const error = new Error(`cannot write to ${secret}`, { cause: new Error(`${secret} bounced`) });
    error.name = `Refused ${secret}`;
    const described = describeError(error, [secret]);
    expect(JSON.stringify(described)).not.toContain(secret);
    expect(described.message).toBe('cannot write to [redacted]');
  });

  it('removes the secrets from what is no error', () => {
    expect(describeError({ to: 'ann@example.org' }, ['ann@example.org']).message).toContain(
      "to: '[redacted]'",
    );
  });

  it('removes a secret that the limit would cut in two', () => {
    const error = new Error(`${'x'.repeat(1_995)} my-password`);
    expect(describeError(error, ['my-password']).message).not.toContain('my-p');
  });

  it('limits every part', () => {
    const error = new Error('m'.repeat(100_000), { cause: new Error('c'.repeat(100_000)) });
    error.name = 'n'.repeat(100_000);
    const described = describeError(error, []);
    expect(described.name).toHaveLength(200);
    expect(described.message).toHaveLength(2_000);
    expect(described.stack).toHaveLength(8_000);
  });

  it('gives text that PostgreSQL can store, also where the limit falls into a character', () => {
    const pieces = fc.constantFrom('\0', '\uD83D', '\uDE00', '😀', 'x', '\uFFFF', '\u0001');
    const text = fc
      .tuple(fc.constantFrom(0, 1_998, 1_999, 2_000), fc.array(pieces, { maxLength: 8 }))
      .map(([before, tail]) => 'x'.repeat(before) + tail.join(''));
    fc.assert(
      fc.property(text, (message) =>
        Object.values(describeError(new Error(message), [])).every(storable),
      ),
    );
    expect(storable(describeError(new Error(`${'x'.repeat(1_999)}😀`), []).message)).toBe(true);
  });

  it('never throws, whatever was thrown', () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) =>
        Object.values(describeError(thrown, [])).every((part) => typeof part === 'string'),
      ),
    );
  });
});

describe('toError', () => {
  it('leaves an error as it is', () => {
    const error = new TypeError('x');
    expect(toError(error)).toBe(error);
  });

  it.each([
    ['whose inspection throws', { [inspect.custom]: throwing }],
    ['that cannot be asked', new Proxy({}, { getPrototypeOf: throwing })],
  ])('makes an error of a thing %s', (_what, thrown) => {
    expect(toError(thrown).message).toBe(unreadable.message);
  });

  it('wraps anything else', () => {
    expect(toError('text')).toBeInstanceOf(Error);
  });
});
