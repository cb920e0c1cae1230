/** For Prisma's own commands (`prisma migrate status`, `prisma studio`, …) on a developer's machine. */
import { defineConfig } from 'prisma/config';

const url = new URL(process.env['DATABASE_URL'] ?? 'postgres://localhost/millrace');
url.searchParams.set('schema', 'millrace');

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: url.toString() },
});
