import type { RunState } from '../../../contract/run-state.ts';

export interface SlotRow {
  readonly slot: Date;
  readonly runId: string | null;
  /** Of the run, while it is kept. */
  readonly state: RunState | null;
  readonly skipped: 'disabled' | 'still_running' | 'missed' | 'by_operator' | null;
  readonly decidedAt: Date;
}

/** The ledger of a definition, the latest slot first: $1 definition, $2 before (null: all), $3 how many. */
export const listSlots = {
  name: 'millrace_list_slots',
  text: `
select s.slot, s.run_id as "runId", r.state, s.skipped, s.decided_at as "decidedAt"
  from millrace.slots s left join millrace.runs r on r.id = s.run_id
 where s.definition = $1 and ($2::timestamptz is null or s.slot < $2)
 order by s.slot desc limit $3`,
} as const;

/** $1 definition, $2 slot. */
export const findSlot = {
  name: 'millrace_find_slot',
  text: `
select s.slot, s.run_id as "runId", s.skipped from millrace.slots s where s.definition = $1 and s.slot = $2`,
} as const;

/** Decides a slot before it comes: $1 definition, $2 slot. No row: it is decided already. */
export const skipSlot = {
  name: 'millrace_skip_slot',
  text: `
insert into millrace.slots (definition, slot, skipped) values ($1, $2, 'by_operator')
on conflict do nothing returning slot`,
} as const;

export const slotClock = {
  name: 'millrace_slot_clock',
  text: 'select millrace.clock_now() as now',
} as const;
