import { z } from 'zod';

import { Fault } from './fault.ts';

/** An empty variable counts as one that is not set. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());
const withDefault = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema);
const secret = z.string().min(32, 'must have at least 32 characters');

const startEnvironment = z
  .object({
    PORT: withDefault(
      z.coerce
        .number('must be a number from 1 to 65535')
        .int('must be a number from 1 to 65535')
        .min(1, 'must be a number from 1 to 65535')
        .max(65_535, 'must be a number from 1 to 65535')
        .default(3000),
    ),
    DATABASE_URL: optional(
      z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }),
    ),
    DATA_DIR: optional(z.string()),
    APP_ENV: withDefault(
      z
        .enum(['local', 'dev', 'staging', 'production'], {
          error: 'must be local, dev, staging or production',
        })
        .default('local'),
    ),
    SCHEDULER_TOKEN: optional(secret),
    SCHEDULER_TOKEN_PREVIOUS: optional(secret),
    DEV_AUTH: optional(z.enum(['0', '1'], { error: 'must be 0 or 1' })),
  })
  .superRefine((env, context) => {
    if (env.APP_ENV === 'local') return;
    if (env.SCHEDULER_TOKEN === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['SCHEDULER_TOKEN'],
        message: `is required when APP_ENV is ${env.APP_ENV}: 32 characters or more`,
      });
    }
    if (env.DEV_AUTH === '1' && env.APP_ENV !== 'dev') {
      context.addIssue({
        code: 'custom',
        path: ['DEV_AUTH'],
        message: `lets everybody in, which APP_ENV=${env.APP_ENV} forbids`,
      });
    }
  });
export type StartEnv = z.output<typeof startEnvironment>;

type Variables = Readonly<Record<string, string | undefined>>;

/** What `bin/start` is told. Throws one `Fault` that lists every fault, without the values. */
export function parseStartEnv(variables: Variables): StartEnv {
  const parsed = startEnvironment.safeParse(variables);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.')} ${issue.message}`);
  throw new Fault(`the environment is not valid:\n${faults.join('\n')}`);
}

const testEnvironment = z.object({
  TEST_DATABASE_URL: optional(z.string()),
  CHROMIUM_PATH: optional(z.string()),
});
export type TestEnv = z.output<typeof testEnvironment>;

/** What `bin/test` is told. */
export const parseTestEnv = (variables: Variables): TestEnv => testEnvironment.parse(variables);

/** This process's own variables, which its children inherit. */
export const inheritedEnv = (): NodeJS.ProcessEnv => process.env;
