import { parseArgs } from 'node:util';

import { APP_ENVS } from '@millrace/jobs/contract/app-env';
import { z } from 'zod';

/** A variable that is there but empty is a fault, not 0. */
const wholeUpTo = (max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().max(max));

const environment = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'is required: a postgres:// URL' }),
  APP_ENV: z.enum(APP_ENVS).default('production'),
  /** Of /healthz, /readyz and /metrics; 0 takes a free port. */
  HEALTH_PORT: wholeUpTo(65_535).default(3001),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  STOP_TIMEOUT_MS: wholeUpTo(600_000).default(20_000),
  // OpenTelemetry's SDK reads these and the other OTEL_* variables itself.
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_TRACES_EXPORTER: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.string().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.string().optional(),
});
export type WorkerEnv = z.output<typeof environment>;

/** The environment of this process. Throws one error that lists every fault. */
export function parseEnv(variables: NodeJS.ProcessEnv): WorkerEnv {
  const parsed = environment.safeParse(variables);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  throw new Error(`The environment is not valid: ${faults.join('; ')}`);
}

/** The queues after `--queues`, each once; `default` without the option. */
export function parseQueues(args: readonly string[]): string[] {
  const { values } = parseArgs({
    args: [...args],
    options: { queues: { type: 'string', default: 'default' } },
  });
  const queues = values.queues.split(',').map((queue) => queue.trim());
  if (queues.some((queue) => queue === '')) {
    throw new Error('--queues needs names, separated by commas: --queues default,mail');
  }
  return [...new Set(queues)];
}

/** This process's own. */
export const readEnv = (): WorkerEnv => parseEnv(process.env);
