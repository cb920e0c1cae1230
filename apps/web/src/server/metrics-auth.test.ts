import { describe, expect, it } from 'vitest';

import { checkMetricsCredential } from './metrics-auth.ts';

const METRICS_TOKEN = 'a-token-of-more-than-thirty-two-characters';
const bearer = `Bearer ${METRICS_TOKEN}`;

describe('checkMetricsCredential', () => {
  it.each(['local', 'dev', 'staging', 'production'] as const)(
    'asks for the token in %s',
    (APP_ENV) => {
      const env = { METRICS_TOKEN, APP_ENV };
      expect(checkMetricsCredential(bearer, env)).toBe('admitted');
      expect(checkMetricsCredential(null, env)).toBe('refused');
      expect(checkMetricsCredential('Bearer wrong', env)).toBe('refused');
      expect(checkMetricsCredential(`Basic ${METRICS_TOKEN}`, env)).toBe('refused');
    },
  );

  it.each([
    ['local', 'admitted'],
    ['dev', 'admitted'],
    ['staging', 'closed'],
    ['production', 'closed'],
  ] as const)('is without a token in %s: %s', (APP_ENV, verdict) => {
    const env = { METRICS_TOKEN: undefined, APP_ENV };
    expect(checkMetricsCredential(null, env)).toBe(verdict);
    expect(checkMetricsCredential('Bearer ', env)).toBe(verdict);
    expect(checkMetricsCredential(bearer, env)).toBe(verdict);
  });
});
