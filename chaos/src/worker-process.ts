/**
 * A worker process of the chaos suite. BREAK takes one of the safeguards away, to prove that the
 * checker notices.
 */
import { absorbEscapedError } from '@millrace/jobs/engine/absorb-escaped-error';
import { startWorker } from '@millrace/jobs/engine/worker';
import pg from 'pg';
import { pino } from 'pino';

import { breakSafeguard, type Safeguard } from './break-safeguard.ts';
import { chaosRegistry } from './jobs.ts';

const broken = process.env['BREAK'] as Safeguard | undefined;
if (broken) breakSafeguard(pg.Client.prototype, broken);

const worker = await startWorker({
  databaseUrl: process.env['DATABASE_URL'] ?? '',
  registry: chaosRegistry,
  queues: (process.env['QUEUES'] ?? 'default,batch').split(','),
  log: pino({ level: process.env['LOG_LEVEL'] ?? 'silent' }, pino.destination(2)),
  version: 'chaos',
  pollIntervalMs: 500,
  ...(process.env['LEASE_MS'] && { leaseMs: Number(process.env['LEASE_MS']) }),
});
const escaped = (error: unknown): void => {
  if (absorbEscapedError(error)) return;
  process.stderr.write(`escaped: ${String(error)}\n`);
  process.exit(1);
};
process.on('uncaughtException', escaped);
process.on('unhandledRejection', escaped);
process.on('SIGTERM', () => {
  void worker.stop({ timeoutMs: 5_000 }).then(() => process.exit(0));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
