import { describe, expect, it } from 'vitest';

import { parseRunsQuery, runsHref } from './runs-query.ts';

const ID = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';

describe('parseRunsQuery', () => {
  it.each([{}, { state: 'failed' }, { before: ID }, { state: 'scheduled', after: ID }])(
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
    { before: 'x' },
    { before: [ID, ID] },
    { after: '' },
    { before: ID, after: ID },
  ])('refuses %j', (query) => {
    expect(parseRunsQuery(query)).toBeNull();
  });
});

describe('runsHref', () => {
  it('leads back to the same list', () => {
    const query = { state: 'failed', before: ID } as const;
    const url = new URL(runsHref(query), 'http://localhost');
    expect(parseRunsQuery(Object.fromEntries(url.searchParams))).toEqual(query);
  });

  it('is plain without a filter', () => {
    expect(runsHref({ state: undefined })).toBe('/');
  });
});
