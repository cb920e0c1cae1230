/** Random, made once per installation, shown nowhere. */
export const installationId = {
  name: 'millrace_installation_id',
  text: 'select id from millrace._prisma_migrations order by migration_name, started_at, id limit 1',
} as const;
