import { defineHandler } from '../../authoring/handler.ts';
import { heartbeat } from './definition.ts';
import { readClock } from './sql/read-clock.ts';

/** Reports how far this worker's clock is from the database's, and how long a round trip takes. */
export const handler = defineHandler(heartbeat, async (_args, { db }) => {
  await db.$queryRawUnsafe(readClock); // opens the connection, which is not what is measured
  const sentAt = Date.now();
  const [row] = await db.$queryRawUnsafe<{ now: Date }[]>(readClock);
  const roundTripMs = Date.now() - sentAt;
  if (!row) throw new Error('the database gave no time');
  return { roundTripMs, clockSkewMs: Math.round(sentAt + roundTripMs / 2 - row.now.getTime()) };
});
