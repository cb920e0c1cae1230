import { setTimeout as sleep } from 'node:timers/promises';

import { inTransaction } from '@millrace/db/transaction';
import type pg from 'pg';
import type { Logger } from 'pino';

import type { Registry } from '../../authoring/registry.ts';
import type { JobDefinition } from '../../contract/definition.ts';
import { parseSchedule, slotsAfter } from '../../contract/schedule.ts';
import { storedArgs } from '../enqueue-run.ts';
import {
  type ChangedSchedule,
  changedSchedules,
  type DueSchedule,
  dueSchedule,
  takeSlots,
  writeSchedule,
} from '../sql/schedules.ts';
import { decideSlots } from './decide-slots.ts';

interface SchedulesOptions {
  readonly pool: pg.Pool;
  readonly registry: Registry;
  readonly log: Logger;
}

/** How often a worker looks; a slot is at most this late. */
const LOOK_MS = 1_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Slots that are decided together: more that were missed take several transactions. */
const MAX_SLOTS = 1_000;

/**
 * Triggers built-in schedules. Every worker does it: each due schedule is taken by one of them, under
 * SKIP LOCKED, and the ledger has one row per slot whatever happens (docs/adr/0014-slots.md).
 */
export function startSchedules(options: SchedulesOptions): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const known = [...options.registry.definitions.values()]
    .filter(({ form }) => form === 'queued')
    .map(({ name }) => name);

  async function look(): Promise<void> {
    await followChanges(options.pool, known);
    while (!signal.aborted && (await takeDue(options, known))) continue;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await look().catch((error: unknown) => {
        // Once stopped, its connections are gone.
        if (!signal.aborted) options.log.warn({ err: error }, 'schedules cannot be triggered');
      });
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
  void run();
  return { stop: () => stopping.abort() };
}

/** A schedule that was changed has its next slot after now: what the old one still owed is no more. */
async function followChanges(pool: pg.Pool, known: readonly string[]): Promise<void> {
  const { rows } = await pool.query<ChangedSchedule>({ ...changedSchedules, values: [known] });
  for (const { definition, schedule, timezone, oldSchedule, oldTimezone, now } of rows) {
    const [next = null] = nextSlots(schedule, timezone, now, 1);
    await pool.query({
      ...writeSchedule,
      values: [definition, schedule, timezone, next, oldSchedule, oldTimezone],
    });
  }
}

function nextSlots(schedule: string, timezone: string, after: Date, count: number): Date[] {
  return schedule === '' ? [] : slotsAfter(parseSchedule(schedule), { timezone, after, count });
}

/** Decides the due slots of one schedule; false when none is due. */
async function takeDue(
  { pool, registry, log }: SchedulesOptions,
  known: readonly string[],
): Promise<boolean> {
  return inTransaction(pool, { statementTimeoutMs: STATEMENT_TIMEOUT_MS }, async (tx) => {
    const { rows } = await tx.query<DueSchedule>({ ...dueSchedule, values: [known] });
    const due = rows[0];
    if (!due) return false;
    const definition = registry.definitions.get(due.definition) as JobDefinition;
    const { slots, next, later } = dueSlots(due);
    const decided = decideSlots(slots, { ...due, missed: definition.missed, later });
    const { rows: taken } = await tx.query<{ started: number | null }>({
      ...takeSlots,
      values: [
        due.definition,
        due.nextSlot,
        next,
        decided.map(({ slot }) => slot),
        decided.map(({ skip }) => skip),
        decided.map(({ slot, skip }) => (skip ? null : request(definition, slot))),
      ],
    });
    const skipped = decided.filter(({ skip }) => skip !== null).length;
    if (skipped > 0) {
      const about = { definition: due.definition, skipped, started: taken[0]?.started };
      log.info(about, 'slots were skipped');
    }
    return true;
  });
}

/** The first slots that have come, the one after them, and how many have come after that. */
function dueSlots({ schedule, timezone, nextSlot, now }: DueSchedule): {
  slots: Date[];
  next: Date | undefined;
  later: number;
} {
  const known = [nextSlot, ...nextSlots(schedule, timezone, nextSlot, 2 * MAX_SLOTS)];
  const due = known.filter((slot) => slot <= now).length;
  const slots = known.slice(0, Math.min(due, MAX_SLOTS));
  return { slots, next: known[slots.length], later: due - slots.length };
}

function request(definition: JobDefinition, slot: Date): string {
  return JSON.stringify({
    definition: definition.name,
    args: storedArgs(definition, definition.newArgs?.({ slot }) ?? {}),
    queue: definition.queue,
    priority: definition.priority,
    maxAttempts: definition.maxAttempts,
    overlap: definition.overlap,
  });
}
