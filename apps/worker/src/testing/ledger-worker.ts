/** A worker process for tests: like main.ts, with one job that notes each of its executions. */
import { parseArgs } from 'node:util';

import { startWorker } from '@millrace/jobs/engine/worker';
import { createRegistry } from '@millrace/jobs/registry/create-registry';
import { pino } from 'pino';

import { parseQueues } from '../env.ts';
import { failStart } from '../fail-start.ts';
import { ledgerJob, ledgerQueues } from './ledger-job.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      database: { type: 'string', default: '' },
      queues: { type: 'string', default: 'default' },
      /** The statement that notes an execution: $1 run, $2 process. */
      ledger: { type: 'string', default: '' },
    },
  });
  const registry = createRegistry({
    definitions: [ledgerJob],
    queues: ledgerQueues,
    handlers: {
      [ledgerJob.name]: () =>
        Promise.resolve(async (_args, ctx) => {
          await ctx.db.$executeRawUnsafe(values.ledger, ctx.runId, process.pid);
        }),
    },
  });
  const worker = await startWorker({
    databaseUrl: values.database,
    registry,
    queues: parseQueues(['--queues', values.queues]),
    log: pino({ level: 'info' }),
    version: 'test',
  });
  process.once('SIGTERM', () => void worker.stop().then(() => process.exit(0), failStart));
  process.stdout.write('ready\n');
}

await main().catch(failStart);
