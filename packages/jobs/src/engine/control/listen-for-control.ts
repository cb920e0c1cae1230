import type pg from 'pg';

import { cancelRequests } from '../sql/leases.ts';
import type { WorkFloor } from '../work-delivery.ts';
import { startControlChannel } from './control-channel.ts';

const RESYNC_MS = 10_000;

/**
 * Follows what operators ask of a worker: when told, and at intervals by looking. Cancels abort
 * executions; the rest is read into the floor's control state.
 */
export function listenForControl(
  floor: WorkFloor,
  pool: pg.Pool,
  connectionString: string,
  /** The channel was replaced: other connections of that age may be dead without saying so. */
  onReplaced: () => void,
): { stop(): Promise<void> } {
  const cancel = (runId: string): void => {
    for (const execution of floor.executions) {
      if (execution.claimed.id === runId) execution.abort('cancelled');
    }
  };
  async function findCancels(): Promise<void> {
    if (floor.executions.size === 0) return;
    const ids = [...floor.executions].map(({ claimed }) => claimed.id);
    const { rows } = await pool.query<{ id: string }>({ ...cancelRequests, values: [ids] });
    for (const row of rows) cancel(row.id);
  }
  const look = (): void => {
    void floor.control.refresh();
    findCancels().catch((error: unknown) => floor.log.warn({ err: error }, 'resync failed'));
  };
  let connected = false;
  const channel = startControlChannel({
    connectionString,
    applicationName: 'millrace worker control',
    log: floor.log,
    onMessage: (message) => {
      if ('cancel' in message) cancel(message.cancel);
      else if ('definition' in message || 'queue' in message || 'worker' in message) {
        void floor.control.refresh();
      }
    },
    onConnect() {
      if (connected) onReplaced();
      connected = true;
      look();
    },
  });
  const timer = setInterval(look, RESYNC_MS);
  return {
    async stop() {
      clearInterval(timer);
      floor.control.stop();
      await channel.stop();
    },
  };
}
