import { checkMetricsCredential } from '../../server/metrics-auth.ts';
import { webServer } from '../../server/jobs.ts';
import { metricsPage } from '../../server/telemetry.ts';

export const dynamic = 'force-dynamic';

const HEADERS = { 'cache-control': 'no-store' };

/** What this process measured, for Prometheus. Not for the public: see {@link checkMetricsCredential}. */
export async function GET(request: Request): Promise<Response> {
  switch (checkMetricsCredential(request.headers.get('authorization'), webServer().env)) {
    case 'admitted':
      return new Response(await metricsPage(), {
        headers: { ...HEADERS, 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      });
    case 'refused':
      return new Response('send Authorization: Bearer <METRICS_TOKEN>\n', {
        status: 401,
        headers: { ...HEADERS, 'www-authenticate': 'Bearer' },
      });
    case 'closed':
      return new Response('not found\n', { status: 404, headers: HEADERS });
  }
}
