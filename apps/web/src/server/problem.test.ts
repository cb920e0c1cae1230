import { ERRORS, type JobErrorCode } from '@millrace/jobs/contract/errors';
import { describe, expect, it } from 'vitest';

import { problem } from './problem.ts';

describe('problem', () => {
  it.each(Object.entries(ERRORS))('answers %s as a problem document', async (code, error) => {
    const response = problem(code as JobErrorCode, 'What to do.', 'request-1');

    expect(response.status).toBe(error.status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toEqual({
      type: `urn:millrace:problem:${code}`,
      title: error.title,
      status: error.status,
      detail: 'What to do.',
      code,
      requestId: 'request-1',
    });
  });

  it('carries further headers', () => {
    const { headers } = problem('unavailable', 'Try again.', 'request-1', { 'retry-after': '5' });
    expect(headers.get('retry-after')).toBe('5');
    expect(headers.get('content-type')).toBe('application/problem+json');
  });
});
