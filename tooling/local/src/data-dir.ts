import { createHash } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { Fault, describeFault } from './fault.ts';
import { canReach, type Account } from './postgres-account.ts';

/** A place outside the checkout that belongs to it alone; for root only. */
export function privatePlace(repository: string): string {
  const hash = createHash('sha256').update(repository).digest('hex').slice(0, 12);
  return join('/var/lib/millrace', hash);
}

/** Where data goes unless DATA_DIR says: into the checkout, if PostgreSQL's account can get there. */
export function defaultDataDir(repository: string, account: Account | null): string {
  return account && !canReach(repository, account)
    ? privatePlace(repository)
    : join(repository, '.data');
}

/** Makes the folder if need be. Throws when it, or for PostgreSQL's account its path, is closed. */
export function openDataDir(path: string, account: Account | null): void {
  if (existsSync(path) && !statSync(path).isDirectory()) {
    throw new Fault(`the data directory ${path} is no directory`);
  }
  try {
    // With an own account, PostgreSQL must pass through to its folder inside.
    makeFolder(path, account ? 0o711 : 0o700);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Fault(`the data directory ${path} cannot be made or written: ${reason(error)}`);
  }
  if (account && !canReach(path, account)) {
    throw new Fault(
      `the data directory ${path} is closed to the user postgres, under whom PostgreSQL runs for root: ` +
        'set DATA_DIR to a directory that every user can enter',
    );
  }
}

/** Like `mkdir -p`, whatever the umask; folders that exist keep their mode. */
function makeFolder(path: string, mode: number): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), 0o755);
  mkdirSync(path);
  chmodSync(path, mode);
}

function reason(error: unknown): string {
  return describeFault(error).replace(/, \w+ '.*'$/, '');
}
