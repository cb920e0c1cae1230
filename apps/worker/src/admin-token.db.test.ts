import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { useDatabase } from '@millrace/db/testing';
import { authenticateToken } from '@millrace/jobs/manager/tokens/authenticate-token';
import { afterAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, 'admin-token.ts');

describe('admin:token', () => {
  const database = useDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-token-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const adminToken = (...args: string[]) =>
    run(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, ...args], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    });

  it('prints a token with the permissions of the role', async () => {
    const { stdout } = await adminToken('--label', 'ci', '--role', 'viewer', '--days', '2');
    const caller = await authenticateToken(database.pool, stdout.trim());
    expect(caller).toMatchObject({ label: 'ci', permissions: ['ops.jobs.read'] });
    expect(await database.db.auditEvent.findMany()).toMatchObject([
      { action: 'admin.token.created', actorKind: 'system', actorId: 'admin:token' },
    ]);
  });

  it('keeps a file’s token while it is valid, and replaces it afterwards', async () => {
    const file = join(folder, 'token');
    const args = ['--label', 'start', '--role', 'admin', '--file', file];
    await adminToken(...args);
    const first = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await adminToken(...args);
    expect(readFileSync(file, 'utf8')).toBe(first);
    await database.pool.query(
      `update millrace.api_tokens set revoked_at = now(), revoked_by = 'a test'`,
    );
    await adminToken(...args);
    expect(readFileSync(file, 'utf8')).not.toBe(first);
  });

  it.each([[[]], [['--label', 'x']], [['--label', 'x', '--role', 'root']]])(
    'says how it is used after %j',
    async (args) => {
      await expect(adminToken(...args)).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('usage: admin:token --label') as string,
      });
    },
  );
});
