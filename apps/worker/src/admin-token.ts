/** `pnpm admin:token --label <text> --role viewer|operator|admin [--days N] [--file PATH]` */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { createPool } from '@millrace/db/pool';
import { type Role, ROLES } from '@millrace/jobs/contract/permission';
import { authenticateToken } from '@millrace/jobs/manager/tokens/authenticate-token';
import { createToken } from '@millrace/jobs/manager/tokens/create-token';
import { workerRegistry } from '@millrace/jobs/registry/worker-registry';
import { pino } from 'pino';

import { readEnv } from './env.ts';
import { failStart } from './fail-start.ts';

const USAGE =
  'admin:token --label <text> --role viewer|operator|admin [--days 1-366] [--file PATH]';

interface Options {
  readonly label: string;
  readonly role: Role;
  readonly days: number;
  /** Where the token is kept; nothing is created while a valid one stands there. */
  readonly file: string | undefined;
}

function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      label: { type: 'string' },
      role: { type: 'string' },
      days: { type: 'string', default: '90' },
      file: { type: 'string' },
    },
  });
  const { label, role = '', file } = values;
  if (!label || !Object.hasOwn(ROLES, role) || !/^\d+$/.test(values.days)) {
    throw new Error(`usage: ${USAGE}`);
  }
  return { label, role: role as Role, days: Number(values.days), file };
}

async function main(): Promise<void> {
  const { label, role, days, file } = parseOptions(process.argv.slice(2));
  const env = readEnv();
  const log = pino({ level: env.LOG_LEVEL, base: { process: 'admin' } });
  const pool = createPool({
    connectionString: env.DATABASE_URL,
    max: 1,
    applicationName: 'millrace admin',
    log,
  });
  try {
    const kept = file && existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    if (kept && (await authenticateToken(pool, kept))) return;
    const { secret } = await createToken(
      {
        pool,
        registry: workerRegistry,
        requestId: randomUUID(),
        actor: {
          kind: 'system',
          id: 'admin:token',
          label: 'admin:token',
          orgId: null,
          permissions: ROLES.admin,
        },
      },
      { label, permissions: [...ROLES[role]], days },
    );
    if (file) writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    else process.stdout.write(`${secret}\n`);
  } finally {
    await pool.end();
  }
}

await main().catch(failStart);
