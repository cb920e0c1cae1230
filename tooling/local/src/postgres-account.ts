import { spawnSync } from 'node:child_process';

import { Fault } from './fault.ts';

/** An account of the operating system. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const NAME = 'postgres';

/**
 * The account PostgreSQL must run under, made when it is missing: the server refuses to run as root.
 * Null for an ordinary user, who runs it under the own account.
 */
export function postgresAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  return find() ?? create();
}

function find(): Account | null {
  const [uid, gid] = ['-u', '-g'].map((option) => {
    const { status, stdout } = spawnSync('id', [option, NAME], { encoding: 'utf8' });
    return status === 0 ? Number(stdout.trim()) : Number.NaN;
  });
  return uid === undefined || gid === undefined || Number.isNaN(uid + gid) ? null : { uid, gid };
}

function create(): Account {
  spawnSync('useradd', [
    '--system',
    '--user-group',
    '--no-create-home',
    '--shell',
    '/bin/false',
    NAME,
  ]);
  // Alpine's busybox has adduser instead.
  if (!find()) spawnSync('adduser', ['-S', '-D', '-H', '-s', '/bin/false', NAME]);
  const account = find();
  if (!account) {
    throw new Fault(
      `PostgreSQL does not run as root, and the user ${NAME} cannot be made: start as an ordinary user`,
    );
  }
  return account;
}

/** Whether the account (or, for null, this process) may enter a folder or run a program. */
export function canReach(path: string, account: Account | null): boolean {
  const { status } = spawnSync('test', ['-x', path], { cwd: '/', ...account });
  return status === 0;
}
