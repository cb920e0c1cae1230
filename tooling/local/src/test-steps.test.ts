import { describe, expect, it } from 'vitest';

import { parseParts } from './test-steps.ts';

describe('parseParts', () => {
  it('takes all parts without a name', () => {
    expect(parseParts([])).toEqual(['checks', 'unit', 'db', 'chaos', 'e2e']);
  });

  it('takes the named ones, in their order', () => {
    expect(parseParts(['db', 'checks'])).toEqual(['checks', 'db']);
  });

  it('refuses a name that is none', () => {
    expect(() => parseParts(['unit', 'all'])).toThrow('unknown part: all');
  });
});
