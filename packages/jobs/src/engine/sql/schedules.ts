/**
 * Definitions whose schedule is not what the next slot was made of, as the newest code and the operators
 * have it, with the clock: $1 the definitions that this process knows.
 */
export const changedSchedules = {
  name: 'millrace_changed_schedules',
  text: `
select d.definition, d.schedule, d.timezone, s.schedule as "oldSchedule", s.timezone as "oldTimezone",
       millrace.clock_now() as now
  from (select m.definition,
               coalesce(o.schedule, m.defaults ->> 'schedule') as schedule,
               coalesce(o.timezone, m.defaults ->> 'timezone') as timezone
          from millrace.definition_manifests m
          left join millrace.definition_overrides o on o.definition = m.definition
         where m.form = 'queued' and m.definition = any ($1::text[])) d
  left join millrace.schedules s on s.definition = d.definition
 where (s.definition is null and d.schedule <> '')
    or (s.definition is not null and (s.schedule, s.timezone) <> (d.schedule, d.timezone))
 order by d.definition`,
} as const;

export interface ChangedSchedule {
  readonly definition: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly oldSchedule: string | null;
  readonly oldTimezone: string | null;
  readonly now: Date;
}

/**
 * $1 definition, $2 schedule, $3 time zone, $4 next slot, $5 and $6 what it replaces. Does nothing when
 * somebody was faster.
 */
export const writeSchedule = {
  name: 'millrace_write_schedule',
  text: `
insert into millrace.schedules as s (definition, schedule, timezone, next_slot) values ($1, $2, $3, $4)
on conflict (definition) do update
   set schedule = excluded.schedule, timezone = excluded.timezone, next_slot = excluded.next_slot
 where s.schedule = $5 and s.timezone = $6`,
} as const;

/** A schedule with a due slot, kept for this transaction: $1 the definitions that this process knows. */
export const dueSchedule = {
  name: 'millrace_due_schedule',
  text: `
select s.definition, s.schedule, s.timezone, s.next_slot as "nextSlot", c.now,
       millrace.is_enabled(s.definition, (m.defaults ->> 'enabled')::boolean) as enabled
  from (select millrace.clock_now() as now) c, millrace.schedules s
  join millrace.definition_manifests m on m.definition = s.definition
 where s.next_slot <= c.now and s.definition = any ($1::text[])
 order by s.next_slot limit 1
   for update of s skip locked`,
} as const;

export interface DueSchedule {
  readonly definition: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly nextSlot: Date;
  readonly now: Date;
  readonly enabled: boolean;
}

/** $1 definition, $2 the next slot as read, $3 the one to come, $4 slots, $5 skips, $6 requests. */
export const takeSlots = {
  name: 'millrace_take_slots',
  text: 'select millrace.take_slots($1, $2, $3, $4, $5, $6::jsonb[]) as started',
} as const;
