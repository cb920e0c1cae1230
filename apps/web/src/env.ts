import { z } from 'zod';

export const APP_ENVS = ['local', 'dev', 'staging', 'production'] as const;

const secret = z.string().min(32, 'must have at least 32 characters');
/** An empty variable counts as one that is not set. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const environment = z
  .object({
    DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'is required: a postgres:// URL' }),
    APP_ENV: z.enum(APP_ENVS).default('production'),
    SCHEDULER_TOKEN: optional(secret),
    SCHEDULER_TOKEN_PREVIOUS: optional(secret),
    DEV_AUTH: optional(z.enum(['0', '1'])),
    LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  })
  .superRefine((env, context) => {
    if (env.DEV_AUTH === '1' && !isDevelopment(env)) {
      context.addIssue({
        code: 'custom',
        path: ['DEV_AUTH'],
        message: `skips the scheduler's secret, which APP_ENV=${env.APP_ENV} forbids: unset it`,
      });
    }
    if (!env.SCHEDULER_TOKEN && env.DEV_AUTH !== '1') {
      context.addIssue({
        code: 'custom',
        path: ['SCHEDULER_TOKEN'],
        message: 'is required: the secret by which the scheduler authenticates',
      });
    }
  });
export type WebEnv = z.output<typeof environment>;

/** Whether development settings are allowed. APP_ENV says it, not NODE_ENV. */
export function isDevelopment({ APP_ENV }: Pick<WebEnv, 'APP_ENV'>): boolean {
  return APP_ENV === 'local' || APP_ENV === 'dev';
}

/** The environment of this process. Throws one error that lists every fault. */
export function parseEnv(variables: Readonly<Record<string, string | undefined>>): WebEnv {
  const parsed = environment.safeParse(variables);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  throw new Error(`The environment is not valid: ${faults.join('; ')}`);
}

/** This process's own. */
export const readEnv = (): WebEnv => parseEnv(process.env);

/** Whether `next dev` serves this process. */
export const isHotReload = (): boolean => process.env.NODE_ENV === 'development';
