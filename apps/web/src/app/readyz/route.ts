import { migrationsPending } from '@millrace/db/migrations-pending';

import { webServer } from '../../server/jobs.ts';

export const dynamic = 'force-dynamic';

/** 200 when this process can serve: the database answers and lacks no migration. Else 503. */
export async function GET(): Promise<Response> {
  const { pool, registry, log } = webServer();
  try {
    const pending = await migrationsPending(pool, [...registry.queues.keys()]);
    return pending.length === 0
      ? answer(200, 'ok')
      : answer(503, `migrations pending: ${pending.join(', ')}`);
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    return answer(503, 'the database cannot be reached');
  }
}

function answer(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { 'cache-control': 'no-store' } });
}
