import { defineInlineHandler } from '../../authoring/handler.ts';
import { sweepIdleSessions } from './definition.ts';
import { deleteExpiredSessions } from './sql/delete-expired-sessions.ts';

export const handler = defineInlineHandler(sweepIdleSessions, async ({ db, limit }) => {
  const count = await db.$executeRawUnsafe(deleteExpiredSessions, limit);
  return { count, more: count === limit };
});
