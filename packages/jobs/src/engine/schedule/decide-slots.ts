import type { MissedPolicy } from '../../contract/definition.ts';

/** A slot with what becomes of it: a run, or the reason for none. */
export interface DecidedSlot {
  readonly slot: Date;
  readonly skip: 'disabled' | 'missed' | null;
}

/** A slot that is later than this by now was missed. */
const GRACE_MS = 60_000;

interface Circumstances {
  readonly now: Date;
  readonly enabled: boolean;
  readonly missed: MissedPolicy;
  /** How many slots after these have come as well, and are decided after them. */
  readonly later: number;
}

/**
 * What becomes of slots that have come, in their order. Those within the grace run. Of those that were
 * missed, the policy lets the latest run: none, one, or so many. `once` adds none to a slot that is in
 * time: its run does what the missed one would have done.
 */
export function decideSlots(
  slots: readonly Date[],
  { now, enabled, missed, later }: Circumstances,
): DecidedSlot[] {
  if (!enabled) return slots.map((slot) => ({ slot, skip: 'disabled' }));
  const late = slots.filter((slot) => now.getTime() - slot.getTime() > GRACE_MS).length;
  const others = slots.length - late + later;
  const caughtUp =
    missed === 'skip' ? 0 : missed === 'once' ? Number(others === 0) : Math.max(0, missed - later);
  const firstToRun = Math.max(0, late - caughtUp);
  return slots.map((slot, index) => ({ slot, skip: index < firstToRun ? 'missed' : null }));
}
