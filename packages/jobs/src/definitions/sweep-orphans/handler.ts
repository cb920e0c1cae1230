import { defineInlineHandler } from '../../authoring/handler.ts';
import { sweepOrphans } from './definition.ts';
import { deleteOrphanedBlobs } from './sql/delete-orphaned-blobs.ts';

export const handler = defineInlineHandler(sweepOrphans, async ({ db, limit }) => {
  const count = await db.$executeRawUnsafe(deleteOrphanedBlobs, limit);
  return { count, more: count === limit };
});
