import { describe, expect, it } from 'vitest';

import { parseStartEnv } from './env.ts';

const TOKEN = 'x'.repeat(32);

describe('parseStartEnv', () => {
  it('needs nothing', () => {
    expect(parseStartEnv({})).toMatchObject({ PORT: 3000, APP_ENV: 'local' });
  });

  it('takes an empty variable for one that is not set', () => {
    const env = parseStartEnv({ PORT: '', DATABASE_URL: '', APP_ENV: '', SCHEDULER_TOKEN: '' });
    expect(env).toMatchObject({ PORT: 3000, APP_ENV: 'local' });
    expect(env.SCHEDULER_TOKEN).toBeUndefined();
  });

  it('names every fault, and no secret', () => {
    const parse = () =>
      parseStartEnv({
        PORT: '70000',
        APP_ENV: 'test',
        DATABASE_URL: 'mysql://ann:hush@db/x',
        SCHEDULER_TOKEN: 'short-secret',
        DEV_AUTH: 'yes',
      });
    expect(parse).toThrow(/PORT [^]*DATABASE_URL [^]*APP_ENV [^]*SCHEDULER_TOKEN [^]*DEV_AUTH /);
    expect(parse).not.toThrow(/hush|short-secret/);
  });

  it.each(['abc', '0', '-1', '3000.5'])('refuses the port %s', (PORT) => {
    expect(() => parseStartEnv({ PORT })).toThrow('PORT must be a number from 1 to 65535');
  });

  it.each(['dev', 'staging', 'production'])('wants a token in %s', (APP_ENV) => {
    expect(() => parseStartEnv({ APP_ENV })).toThrow('SCHEDULER_TOKEN is required');
    expect(() => parseStartEnv({ APP_ENV, SCHEDULER_TOKEN: 'short' })).toThrow('at least 32');
    expect(parseStartEnv({ APP_ENV, SCHEDULER_TOKEN: TOKEN }).SCHEDULER_TOKEN).toBe(TOKEN);
  });

  it.each(['staging', 'production'])('refuses to let everybody in in %s', (APP_ENV) => {
    const variables = { APP_ENV, SCHEDULER_TOKEN: TOKEN, DEV_AUTH: '1' };
    expect(() => parseStartEnv(variables)).toThrow('DEV_AUTH lets everybody in');
  });
});
