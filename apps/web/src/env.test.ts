import { describe, expect, it } from 'vitest';

import { isDevelopment, parseEnv } from './env.ts';

const SECRET = 'a-secret-of-thirty-two-characters';
const VALID = {
  DATABASE_URL: 'postgres://user:hidden@localhost:5432/app',
  SCHEDULER_TOKEN: SECRET,
};

describe('parseEnv', () => {
  it('takes production and its log level for granted', () => {
    expect(parseEnv(VALID)).toEqual({ ...VALID, APP_ENV: 'production', LOG_LEVEL: 'info' });
  });

  it('knows no more than its own variables', () => {
    expect(parseEnv({ ...VALID, HOME: '/root', OTHER_SECRET: 'x' })).not.toHaveProperty('HOME');
  });

  it.each(['postgres://localhost/app', 'postgresql://u:p@db.example:6432/app?sslmode=require'])(
    'takes the database %s',
    (DATABASE_URL) => {
      expect(parseEnv({ ...VALID, DATABASE_URL })).toMatchObject({ DATABASE_URL });
    },
  );

  it.each([undefined, '', 'mysql://localhost/app', 'localhost:5432', 'postgres//x'])(
    'refuses the database %j',
    (DATABASE_URL) => {
      expect(() => parseEnv({ ...VALID, DATABASE_URL })).toThrow(/DATABASE_URL .*postgres:\/\//);
    },
  );

  it.each(['local', 'dev', 'staging', 'production'])('takes APP_ENV=%s', (APP_ENV) => {
    expect(parseEnv({ ...VALID, APP_ENV })).toMatchObject({ APP_ENV });
  });

  it.each(['prod', 'LOCAL', ' local'])('refuses APP_ENV=%j', (APP_ENV) => {
    expect(() => parseEnv({ ...VALID, APP_ENV })).toThrow(/APP_ENV/);
  });

  it.each(['local', 'dev'])('lets DEV_AUTH=1 stand in for the secret in %s', (APP_ENV) => {
    const env = parseEnv({ DATABASE_URL: VALID.DATABASE_URL, APP_ENV, DEV_AUTH: '1' });
    expect(env).toMatchObject({ DEV_AUTH: '1' });
    expect(env.SCHEDULER_TOKEN).toBeUndefined();
  });

  it.each([undefined, 'staging', 'production'])('refuses DEV_AUTH=1 in %s', (APP_ENV) => {
    expect(() => parseEnv({ ...VALID, APP_ENV, DEV_AUTH: '1' })).toThrow(
      /DEV_AUTH skips .* unset it/,
    );
  });

  it.each(['0', ''])('needs the secret with DEV_AUTH=%j', (DEV_AUTH) => {
    const env = { DATABASE_URL: VALID.DATABASE_URL, APP_ENV: 'local', DEV_AUTH };
    expect(() => parseEnv(env)).toThrow(/SCHEDULER_TOKEN is required/);
    expect(parseEnv({ ...env, SCHEDULER_TOKEN: SECRET })).toMatchObject({ APP_ENV: 'local' });
  });

  it.each(['true', 'yes', '2'])('refuses DEV_AUTH=%s', (DEV_AUTH) => {
    expect(() => parseEnv({ ...VALID, APP_ENV: 'local', DEV_AUTH })).toThrow(/DEV_AUTH/);
  });

  it.each(['SCHEDULER_TOKEN', 'SCHEDULER_TOKEN_PREVIOUS', 'METRICS_TOKEN'])(
    'refuses a short %s',
    (name) => {
      const short = 'x'.repeat(31);
      expect(() => parseEnv({ ...VALID, [name]: short })).toThrow(
        new RegExp(`${name} must have at least 32 characters`),
      );
      expect(parseEnv({ ...VALID, [name]: `${short}x` })).toMatchObject({ [name]: `${short}x` });
    },
  );

  it.each([`${SECRET}\n`, ` ${SECRET}`, `${SECRET} x`, `${SECRET}é`])(
    'refuses the secret %j, which no header carries',
    (SCHEDULER_TOKEN) => {
      expect(() => parseEnv({ ...VALID, SCHEDULER_TOKEN })).toThrow(
        /SCHEDULER_TOKEN must be of printable ASCII/,
      );
    },
  );

  it("knows OpenTelemetry's variables, and needs none of them nor a token for metrics", () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318';
    expect(parseEnv({ ...VALID, OTEL_EXPORTER_OTLP_ENDPOINT })).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT,
    });
    expect(parseEnv(VALID).METRICS_TOKEN).toBeUndefined();
  });

  it('takes an empty variable for one that is not set', () => {
    const empty = { APP_ENV: '', SCHEDULER_TOKEN_PREVIOUS: '', DEV_AUTH: '', LOG_LEVEL: '' };
    expect(parseEnv({ ...VALID, ...empty })).toEqual(parseEnv(VALID));
    expect(() => parseEnv({ ...VALID, SCHEDULER_TOKEN: '' })).toThrow(/SCHEDULER_TOKEN is req/);
  });

  it('lists all faults at once', () => {
    const env = { SCHEDULER_TOKEN_PREVIOUS: 'short', DEV_AUTH: '1', LOG_LEVEL: 'loud' };
    let message = '';
    try {
      parseEnv(env);
    } catch (error) {
      message = String(error);
    }
    expect(message).toMatch(/DATABASE_URL/);
    expect(message).toMatch(/SCHEDULER_TOKEN_PREVIOUS/);
    expect(message).toMatch(/DEV_AUTH skips/);
    expect(message).toMatch(/LOG_LEVEL/);
    expect(message).not.toContain('\n');
  });

  it('lists a missing secret beside a missing database', () => {
    expect(() => parseEnv({})).toThrow(/DATABASE_URL .*; SCHEDULER_TOKEN is required/);
  });

  it('repeats no value', () => {
    const env = {
      DATABASE_URL: 'mysql://user:hidden@localhost/app',
      SCHEDULER_TOKEN: 'hidden',
      APP_ENV: 'hidden',
      LOG_LEVEL: 'hidden',
    };
    expect(() => parseEnv(env)).toThrow(/^(?!.*hidden)/s);
  });
});

describe('isDevelopment', () => {
  it.each([
    ['local', true],
    ['dev', true],
    ['staging', false],
    ['production', false],
  ] as const)('says of %s %s', (APP_ENV, development) => {
    expect(isDevelopment({ APP_ENV })).toBe(development);
  });
});
