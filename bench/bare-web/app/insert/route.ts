import pg from 'pg';

export const dynamic = 'force-dynamic';

// The yardstick of the POST comparison: what any Next.js handler costs that writes one row.
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

export async function POST(): Promise<Response> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'insert',
    text: 'insert into bare_jobs (definition) values ($1) returning id',
    values: ['reindex_runs'],
  });
  return Response.json({ jobId: rows[0]?.id }, { status: 202 });
}
