import { describe, expect, it } from 'vitest';

import { announcement } from './announce.ts';

const running = {
  port: 3100,
  token: 'secret',
  databaseUrl: 'postgres://a:b@h/d',
  logs: '/logs',
  opsToken: '/data/ops-token',
};

describe('announcement', () => {
  it('has the line that scripts wait for, once', () => {
    const lines = announcement(running).split('\n');
    expect(lines.filter((line) => line.startsWith('ready: '))).toEqual([
      'ready: http://localhost:3100',
    ]);
  });

  it('gives the command that starts a job', () => {
    expect(announcement(running)).toContain(
      'curl -i -X POST -H "Authorization: Bearer secret" http://localhost:3100/internal/jobs/reindex_runs',
    );
  });

  it('gives the command that operates it, without the token itself', () => {
    expect(announcement(running)).toContain(
      `curl -H "Authorization: Bearer $(cat '/data/ops-token')" http://localhost:3100/ops/queues`,
    );
    expect(announcement({ ...running, opsToken: null })).not.toContain('/ops/');
  });

  it('needs neither a token nor a database of our own', () => {
    const text = announcement({
      ...running,
      token: undefined,
      databaseUrl: null,
      opsToken: null,
    });
    expect(text).not.toContain('Authorization');
    expect(text).toContain('the one of DATABASE_URL');
  });
});
