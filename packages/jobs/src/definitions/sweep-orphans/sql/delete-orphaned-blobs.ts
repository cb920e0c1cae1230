/**
 * Blobs of the last hour are left alone: their run may not be committed yet. $1 the most to delete.
 */
export const deleteOrphanedBlobs = `
delete from millrace.blobs
 where id in (
   select b.id from millrace.blobs b
    where b.created_at < now() - interval '1 hour'
      and not exists (select from millrace.runs r where r.id = b.run_id)
    order by b.created_at, b.id limit $1 for update skip locked)`;
