import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Fault, describeFault } from './fault.ts';
import { canReach, type Account } from './postgres-account.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { readOrCreateSecret } from './secret-file.ts';

/** The superuser that `initdb` makes. Not named as a schema is: that one would come before `public`. */
export const SUPERUSER = 'postgres';

/** The files of one PostgreSQL. */
export interface Cluster {
  /** The folder of all of them; belongs to the account. */
  readonly home: string;
  readonly data: string;
  readonly portFile: string;
  readonly password: string;
}

/** Opens the cluster in this folder, made on the first call. Throws a `Fault` when it cannot be used. */
export async function openCluster(
  home: string,
  binaries: PostgresBinaries,
  account: Account | null,
): Promise<Cluster> {
  ownFolder(home, account);
  const data = join(home, 'data');
  const password = readOrCreateSecret(join(home, 'password'), account);
  if (existsSync(data)) {
    checkMajor(data, binaries.major);
  } else {
    await initialise(home, binaries, account);
  }
  return { home, data, portFile: join(home, 'port'), password };
}

function ownFolder(home: string, account: Account | null): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    if (account) chownSync(home, account.uid, account.gid);
  } catch (error) {
    throw new Fault(`${home} cannot be written: ${describeFault(error)}`);
  }
  if (!canReach(home, account)) throw new Fault(`${home} is closed to PostgreSQL: check its owner`);
}

function checkMajor(data: string, major: string): void {
  const versionFile = join(data, 'PG_VERSION');
  const found = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : null;
  if (found === major) return;
  throw new Fault(
    found === null
      ? `${data} holds no PostgreSQL database: move it away`
      : `${data} was written by PostgreSQL ${found}, this is ${major}: ` +
          `carry it over with pg_dump of version ${found}, or remove it to start afresh`,
  );
}

async function initialise(
  home: string,
  binaries: PostgresBinaries,
  account: Account | null,
): Promise<void> {
  // Renamed when it is complete: a cut-off attempt leaves nothing that looks like a database.
  const draft = join(home, 'data.draft');
  rmSync(draft, { recursive: true, force: true });
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${draft}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${join(home, 'password')}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      // Knows the letters of all languages, whatever the machine has installed.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    {
      cwd: home,
      env: serverEnv(),
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
      ...account,
    },
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) {
    rmSync(draft, { recursive: true, force: true });
    const line = output.split('\n').find((text) => text.includes('error:')) ?? output;
    throw new Fault(`initdb failed: ${describeFault(line)}`);
  }
  renameSync(draft, join(home, 'data'));
}

/** PostgreSQL gets none of our environment, which holds secrets and PG* variables. */
export function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}
