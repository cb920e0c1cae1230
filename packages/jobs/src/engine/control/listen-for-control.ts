import type pg from 'pg';

import { cancelRequests } from '../sql/leases.ts';
import type { WorkFloor } from '../work-delivery.ts';
import { startControlChannel } from './control-channel.ts';

const RESYNC_MS = 10_000;

/** Aborts executions whose cancel was asked for: when told, and at intervals by looking. */
export function listenForCancels(
  floor: WorkFloor,
  pool: pg.Pool,
  connectionString: string,
): { stop(): Promise<void> } {
  const cancel = (runId: string): void => {
    for (const execution of floor.executions) {
      if (execution.claimed.id === runId) execution.abort('cancelled');
    }
  };
  async function resync(): Promise<void> {
    if (floor.executions.size === 0) return;
    const ids = [...floor.executions].map(({ claimed }) => claimed.id);
    const { rows } = await pool.query<{ id: string }>({ ...cancelRequests, values: [ids] });
    for (const row of rows) cancel(row.id);
  }
  const look = (): void => {
    resync().catch((error: unknown) => floor.log.warn({ err: error }, 'resync failed'));
  };
  const control = startControlChannel({
    connectionString,
    applicationName: 'millrace worker control',
    log: floor.log,
    onMessage: (message) => {
      if ('cancel' in message) cancel(message.cancel);
    },
    onConnect: look,
  });
  const timer = setInterval(look, RESYNC_MS);
  return {
    async stop() {
      clearInterval(timer);
      await control.stop();
    },
  };
}
