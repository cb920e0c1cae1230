export const dynamic = 'force-dynamic';

/** 200 while the process lives. */
export function GET(): Response {
  return new Response('ok\n', { headers: { 'cache-control': 'no-store' } });
}
