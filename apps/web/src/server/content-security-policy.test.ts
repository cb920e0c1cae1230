import { describe, expect, it } from 'vitest';

import { contentSecurityPolicy } from './content-security-policy.ts';

describe('contentSecurityPolicy', () => {
  it('lets only marked scripts run', () => {
    const policy = contentSecurityPolicy('abc', false);
    expect(policy).toContain("script-src 'self' 'nonce-abc' 'strict-dynamic';");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("frame-ancestors 'none'");
  });

  it('gives way to hot reload', () => {
    expect(contentSecurityPolicy('abc', true)).toMatch(/'unsafe-eval'.*style-src 'self' 'unsafe-i/);
  });
});
