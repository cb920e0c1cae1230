import { describe, expect, it } from 'vitest';

import { parseEnv, parseQueues } from './env.ts';

const DATABASE_URL = 'postgres://millrace@db.internal:5432/millrace';

describe('parseEnv', () => {
  it('fills in what is not given', () => {
    expect(parseEnv({ DATABASE_URL })).toEqual({
      DATABASE_URL,
      APP_ENV: 'production',
      HEALTH_PORT: 3001,
      LOG_LEVEL: 'info',
      STOP_TIMEOUT_MS: 20_000,
    });
  });

  it('reads what is given and leaves the rest of the environment alone', () => {
    const given = {
      DATABASE_URL: 'postgresql://u:p%40ss@localhost/x?sslmode=require',
      APP_ENV: 'local',
      HEALTH_PORT: '0',
      LOG_LEVEL: 'silent',
      STOP_TIMEOUT_MS: '0',
      PATH: '/bin',
    };
    expect(parseEnv(given)).toEqual({
      DATABASE_URL: given.DATABASE_URL,
      APP_ENV: 'local',
      HEALTH_PORT: 0,
      LOG_LEVEL: 'silent',
      STOP_TIMEOUT_MS: 0,
    });
  });

  it.each([
    ['no database', { DATABASE_URL: undefined }, 'DATABASE_URL is required: a postgres:// URL'],
    ['an empty database URL', { DATABASE_URL: '' }, 'DATABASE_URL is required'],
    ['another database', { DATABASE_URL: 'mysql://localhost/x' }, 'DATABASE_URL is required'],
    ['an unknown environment', { APP_ENV: 'test' }, 'APP_ENV'],
    ['a port above 65535', { HEALTH_PORT: '65536' }, 'HEALTH_PORT'],
    ['a port that is no number', { HEALTH_PORT: 'http' }, 'HEALTH_PORT'],
    ['an empty port', { HEALTH_PORT: '' }, 'HEALTH_PORT'],
    ['an unknown log level', { LOG_LEVEL: 'verbose' }, 'LOG_LEVEL'],
    ['a negative stop timeout', { STOP_TIMEOUT_MS: '-1' }, 'STOP_TIMEOUT_MS'],
    ['an empty stop timeout', { STOP_TIMEOUT_MS: ' ' }, 'STOP_TIMEOUT_MS'],
    ['a stop timeout with a unit', { STOP_TIMEOUT_MS: '20s' }, 'STOP_TIMEOUT_MS'],
  ])('refuses %s', (_what, variables, fault) => {
    expect(() => parseEnv({ DATABASE_URL, ...variables })).toThrow(fault);
  });

  it('lists every fault at once and tells no value', () => {
    const parse = (): unknown =>
      parseEnv({
        DATABASE_URL: 'mysql://u:hunter2@h/x',
        APP_ENV: 'x',
        HEALTH_PORT: '-1',
        LOG_LEVEL: 'x',
      });
    expect(parse).toThrow(
      /^The environment is not valid: (?=.*DATABASE_URL)(?=.*APP_ENV)(?=.*HEALTH_PORT)(?=.*LOG_LEVEL)/,
    );
    expect(parse).not.toThrow('hunter2');
  });
});

describe('parseQueues', () => {
  it.each([
    [[], ['default']],
    [['--queues', 'batch'], ['batch']],
    [['--queues=default,mail'], ['default', 'mail']],
    [
      ['--queues', ' default , mail '],
      ['default', 'mail'],
    ],
    [
      ['--queues', 'mail,mail,default'],
      ['mail', 'default'],
    ],
    [['--queues', 'mail', '--queues', 'batch'], ['batch']],
  ])('reads %j', (args, queues) => {
    expect(parseQueues(args)).toEqual(queues);
  });

  it.each([[['--queues', '']], [['--queues=default,,mail']], [['--queues', ',']]])(
    'refuses %j without a name',
    (args) => {
      expect(() => parseQueues(args)).toThrow('--queues needs names, separated by commas');
    },
  );

  it.each([[['--queues']], [['--queue', 'default']], [['default']]])('refuses %j', (args) => {
    expect(() => parseQueues(args)).toThrow(TypeError);
  });
});
