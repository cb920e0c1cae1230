import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { createPool, databaseUrl, describeDatabase } from './pool.ts';

describe('databaseUrl', () => {
  it("removes Prisma's parameters and keeps the server's", () => {
    expect(
      databaseUrl('postgres://a:b@h:1/d?schema=millrace&connection_limit=5&sslmode=require'),
    ).toBe('postgres://a:b@h:1/d?sslmode=require');
  });

  it.each(['postgres://user:s3cret#x@host/db', 'user:s3cret@host', 'mysql://u:s3cret@host/db', ''])(
    'refuses %j without repeating its password',
    (url) => {
      let fault: unknown;
      try {
        createPool({ connectionString: url, max: 1, applicationName: 'test', log: { warn() {} } });
      } catch (error) {
        fault = error;
      }
      expect(fault).toBeInstanceOf(Error);
      expect(inspect(fault, { depth: null, showHidden: true })).not.toContain('s3cret');
    },
  );
});

describe('describeDatabase', () => {
  it('names host, port and database only', () => {
    expect(describeDatabase('postgres://u:s3cret@db.example:6432/app?schema=x')).toBe(
      'db.example:6432/app',
    );
    expect(describeDatabase('postgresql:///app?host=/run/postgresql')).toBe('/run/postgresql/app');
  });
});
