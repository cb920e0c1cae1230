import { hasCode } from './fault.ts';

/** Sends a signal to all processes of the group that this leader began; they may be gone already. */
export function signalGroup(leader: number | undefined, name: NodeJS.Signals): void {
  if (leader === undefined || leader <= 1) return;
  try {
    process.kill(-leader, name);
  } catch (error) {
    // EPERM is what macOS says of a group that only consists of the dead.
    if (!hasCode(error, 'ESRCH', 'EPERM')) throw error;
  }
}
