import { isDevelopment, type WebEnv } from '../env.ts';
import { checkSchedulerCredential } from './scheduler-auth.ts';

/**
 * Who may read the metrics: whoever sends METRICS_TOKEN. Without one they are closed, but on a
 * developer's machine.
 */
export function checkMetricsCredential(
  authorization: string | null,
  env: Pick<WebEnv, 'METRICS_TOKEN' | 'APP_ENV'>,
): 'admitted' | 'refused' | 'closed' {
  if (env.METRICS_TOKEN === undefined) return isDevelopment(env) ? 'admitted' : 'closed';
  const secrets = { current: env.METRICS_TOKEN, previous: undefined };
  return checkSchedulerCredential(authorization, secrets) === 'current' ? 'admitted' : 'refused';
}
