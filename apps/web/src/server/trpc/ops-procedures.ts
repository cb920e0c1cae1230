import { type ERRORS, JobError } from '@millrace/jobs/contract/errors';
import type { ManagerContext, Verb } from '@millrace/jobs/manager/verb';
import { initTRPC, TRPCError } from '@trpc/server';
import type { z } from 'zod';

/** What procedures are called with. */
export interface OpsContext {
  readonly requestId: string;
  /** Throws a `JobError` when nobody may call: the token is looked up once for a whole batch. */
  manager(): Promise<ManagerContext>;
  /** What is not the caller's doing: logged, and not told. */
  describe(error: unknown): JobError;
}

/** tRPC's name of each HTTP status that {@link ERRORS} uses. */
const TRPC_CODES = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const satisfies Record<(typeof ERRORS)[keyof typeof ERRORS]['status'], string>;

const t = initTRPC.context<OpsContext>().create({
  errorFormatter({ shape, error, ctx }) {
    const { code, httpStatus, path } = shape.data;
    const { cause } = error;
    const problem =
      cause instanceof JobError
        ? { code: cause.code, detail: cause.message, details: cause.details }
        : { code: 'invalid_request', detail: shape.message, details: {} };
    return {
      ...shape,
      data: { code, httpStatus, path, problem: { ...problem, requestId: ctx?.requestId ?? '' } },
    };
  },
});

export const router = t.router;

/** A verb that reads, as a procedure: it holds no rule of its own. */
export function query<Schema extends z.ZodType, Output>(verb: Verb<Schema, Output>) {
  return procedure(verb).query(({ ctx, input }) => call(verb, ctx, input));
}

/** A verb that changes something, as a procedure. */
export function mutation<Schema extends z.ZodType, Output>(verb: Verb<Schema, Output>) {
  return procedure(verb).mutation(({ ctx, input }) => call(verb, ctx, input));
}

/** With the input's type only: the verb itself checks it, after the permission. */
function procedure<Schema extends z.ZodType, Output>(_verb: Verb<Schema, Output>) {
  return t.procedure.input((input: unknown) => input as z.input<Schema>);
}

async function call<Schema extends z.ZodType, Output>(
  verb: Verb<Schema, Output>,
  context: OpsContext,
  input: unknown,
): Promise<Output> {
  try {
    return await verb(await context.manager(), input as z.input<Schema>);
  } catch (error) {
    const cause = context.describe(error);
    throw new TRPCError({ code: TRPC_CODES[cause.status as never], message: cause.message, cause });
  }
}
