import { APP_ENVS } from '@millrace/jobs/contract/app-env';
import { z } from 'zod';

const secret = z
  .string()
  .min(32, 'must have at least 32 characters')
  // A line's end, as a file brings it along, would never match what a header carries.
  .regex(/^[\x21-\x7e]*$/, 'must be of printable ASCII characters without spaces');

const environment = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'is required: a postgres:// URL' }),
  APP_ENV: z.enum(APP_ENVS).default('production'),
  SCHEDULER_TOKEN: secret.optional(),
  SCHEDULER_TOKEN_PREVIOUS: secret.optional(),
  DEV_AUTH: z.enum(['0', '1']).optional(),
  /** Opens /metrics to whoever sends it. */
  METRICS_TOKEN: secret.optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  // OpenTelemetry's SDK reads these and the other OTEL_* variables itself.
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_TRACES_EXPORTER: z.string().optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.string().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.string().optional(),
});
export type WebEnv = z.output<typeof environment>;
type Variables = Readonly<Record<string, string | undefined>>;

/** Whether development settings are allowed. APP_ENV says it, not NODE_ENV. */
export function isDevelopment({ APP_ENV }: { readonly APP_ENV?: string | undefined }): boolean {
  return APP_ENV === 'local' || APP_ENV === 'dev';
}

/**
 * The environment of this process; an empty variable counts as one that is not set. Throws one error
 * that lists every fault.
 */
export function parseEnv(variables: Variables): WebEnv {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(set);
  const faults = [
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')} ${issue.message}`),
    ...combinationFaults(set),
  ];
  if (parsed.success && faults.length === 0) return parsed.data;
  throw new Error(`The environment is not valid: ${faults.join('; ')}`);
}

/** What no variable says alone. Not a refinement: zod skips those once a variable has a fault. */
function combinationFaults({ APP_ENV = 'production', DEV_AUTH, SCHEDULER_TOKEN }: Variables) {
  const faults: string[] = [];
  if (DEV_AUTH === '1' && !isDevelopment({ APP_ENV })) {
    faults.push(
      "DEV_AUTH skips the scheduler's secret, which is allowed with APP_ENV=local and dev only: unset it",
    );
  }
  if (!SCHEDULER_TOKEN && DEV_AUTH !== '1') {
    faults.push('SCHEDULER_TOKEN is required: the secret by which the scheduler authenticates');
  }
  return faults;
}

/** This process's own. */
export const readEnv = (): WebEnv => parseEnv(process.env);

/** Whether `next dev` serves this process. */
export const isHotReload = (): boolean => process.env.NODE_ENV === 'development';
