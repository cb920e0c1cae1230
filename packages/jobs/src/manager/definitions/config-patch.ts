import { z } from 'zod';

import { ScheduleError, parseSchedule, parseTimeZone } from '../../contract/schedule.ts';

/** Refuses what `parse` refuses, with its words. */
function checkedBy(parse: (text: string) => unknown) {
  return z.string().superRefine((text, context) => {
    try {
      parse(text);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  });
}

/** What operators set: fields that are left out stay, null goes back to what the code says. */
export const configPatch = z
  .strictObject({
    enabled: z.boolean().nullable(),
    schedule: z.union([z.literal(''), checkedBy(parseSchedule)]).nullable(),
    timezone: checkedBy(parseTimeZone).nullable(),
    timeoutMs: z.int().min(1_000).max(86_400_000).nullable(),
    maxAttempts: z.int().min(1).max(100).nullable(),
    queue: z.string().min(1).max(60).nullable(),
    priority: z.int().min(-100).max(100).nullable(),
  })
  .partial();
export type ConfigPatch = z.output<typeof configPatch>;

/** Said by the person who changes something; kept in the history and the audit. */
export const reason = z.string().trim().min(1).max(500);

/** An instant that every part of the system can handle. */
export const instant = z.coerce
  .date()
  .min(new Date('1970-01-01T00:00:00Z'))
  .max(new Date('2200-01-01T00:00:00Z'));

export const definitionName = z.string().max(63);
