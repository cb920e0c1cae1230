/** `pnpm migrate`: brings the database of DATABASE_URL up to date, both histories. */
import { migrate } from '@millrace/db/migrate';
import { workerRegistry } from '@millrace/jobs/registry/worker-registry';
import { pino } from 'pino';

import { readEnv } from './env.ts';
import { failStart } from './fail-start.ts';

async function main(): Promise<void> {
  const env = readEnv();
  const log = pino({ level: env.LOG_LEVEL, base: { process: 'migrate' } });
  await migrate({ databaseUrl: env.DATABASE_URL, queues: [...workerRegistry.queues.keys()], log });
}

await main().catch(failStart);
