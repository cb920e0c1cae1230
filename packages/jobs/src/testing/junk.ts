import type { RETURNED, THROWN } from './test-jobs.ts';

const refuse = (): never => {
  throw new Error('from a getter');
};
const unaskable = (): object => new Proxy({}, { getPrototypeOf: refuse });

/** What `test.throwing` throws. Not always an error: that is the point. */
export function thrownValue(what: (typeof THROWN)[number], secret = ''): Error {
  const values = {
    error: new Error('an error'),
    text: 'a text',
    null: null,
    undefined: undefined,
    getters: Object.defineProperties(new Error(), {
      name: { get: refuse },
      message: { get: refuse },
      stack: { get: refuse },
    }),
    unaskable: unaskable(),
    secret: new Error(`cannot write to ${secret}`),
  } satisfies Record<(typeof THROWN)[number], unknown>;
  return values[what] as Error;
}

/** What `test.returning` returns. */
export function returnedValue(what: (typeof RETURNED)[number]): unknown {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const values = {
    text: 'a text',
    number: 12,
    array: [1, 2],
    circle,
    bigint: { count: 1n },
    huge: { text: 'x'.repeat(20_000) },
    map: new Map([['count', 1]]),
    date: new Date(0),
    function: () => 1,
    refusing: { toJSON: refuse },
    error: new Error('returned, not thrown'),
    unaskable: unaskable(),
  } satisfies Record<(typeof RETURNED)[number], unknown>;
  return values[what];
}
