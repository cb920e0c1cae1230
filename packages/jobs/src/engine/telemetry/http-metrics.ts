import { metrics } from '@opentelemetry/api';

import { SCOPE_NAME, SECONDS } from './run-metrics.ts';

export interface HttpMeasure {
  readonly method: string;
  /** The route's pattern, never the path itself. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']);

/** Times requests as OpenTelemetry's HTTP conventions name them. */
export function createHttpMetrics(): (measure: HttpMeasure) => void {
  const duration = metrics
    .getMeter(SCOPE_NAME)
    .createHistogram('http_server_request_duration_seconds', {
      description: 'How long requests took.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    });
  return ({ method, route, status, durationMs }) => {
    duration.record(durationMs / 1_000, {
      'http.request.method': METHODS.has(method) ? method : '_OTHER',
      'http.route': route,
      'http.response.status_code': status,
    });
  };
}
