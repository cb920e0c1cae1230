/** $1 the most to delete. */
export const deleteExpiredSessions = `
delete from millrace.sessions
 where id in (select id from millrace.sessions where expires_at < now()
               order by expires_at limit $1 for update skip locked)`;
