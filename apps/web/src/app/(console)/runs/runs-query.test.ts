import { describe, expect, it } from 'vitest';

import { parseRunsQuery, runsHref } from './runs-query.ts';

const CURSOR = 'AAGiL0TiFX2JpbnwpPQ';

describe('parseRunsQuery', () => {
  it.each([{}, { state: 'failed' }, { cursor: CURSOR }, { state: 'scheduled', cursor: CURSOR }])(
    'takes %j as it is',
    (query) => {
      expect(parseRunsQuery(query)).toEqual(query);
    },
  );

  it('ignores what it does not know', () => {
    expect(parseRunsQuery({ utm_source: 'mail' })).toEqual({});
  });

  it.each([
    { state: 'broken' },
    { state: '' },
    { state: ['failed', 'queued'] },
    { cursor: '' },
    { cursor: [CURSOR, CURSOR] },
    { cursor: 'x'.repeat(101) },
  ])('refuses %j', (query) => {
    expect(parseRunsQuery(query)).toBeNull();
  });
});

describe('runsHref', () => {
  it('leads back to the same list', () => {
    const query = { state: 'failed', cursor: CURSOR } as const;
    const url = new URL(runsHref(query), 'http://localhost');
    expect(parseRunsQuery(Object.fromEntries(url.searchParams))).toEqual(query);
  });

  it('is plain without a filter', () => {
    expect(runsHref({ state: undefined })).toBe('/');
  });
});
