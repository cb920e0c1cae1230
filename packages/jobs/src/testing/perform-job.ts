import { randomUUID } from 'node:crypto';

import type { Db } from '@millrace/db/client';
import { pino } from 'pino';
import type { z } from 'zod';

import type { Handler, HandlerContext, InlineHandler, InlineResult } from '../authoring/handler.ts';
import type { JobDefinition } from '../contract/definition.ts';
import { jobsActor } from '../contract/run-context.ts';

type Performed<Definition extends JobDefinition> = ReturnType<Handler<Definition>>;

/** Calls a handler as a worker would, without a run: the arguments go through the schema. */
export function performJob<Definition extends JobDefinition>(
  definition: Definition,
  handler: Handler<Definition>,
  args: z.input<Definition['args']>,
  context: Pick<HandlerContext, 'db'> & Partial<HandlerContext>,
): Performed<Definition> {
  return handler(definition.args.parse(args) as z.output<Definition['args']>, {
    runId: randomUUID(),
    execution: 1,
    attempt: 1,
    maxAttempts: definition.maxAttempts,
    slot: null,
    signal: new AbortController().signal,
    log: pino({ level: 'silent' }),
    progress: () => undefined,
    actor: jobsActor(null),
    onBehalfOf: null,
    requestId: null,
    enqueue: () => Promise.reject(new Error('performJob() enqueues nothing')),
    ...context,
  });
}

/** Calls the handler of an inline job with the given cap. */
export function performInlineJob(
  handler: InlineHandler,
  { db, limit }: { readonly db: Db; readonly limit: number },
): Promise<InlineResult> {
  return handler({
    runId: randomUUID(),
    limit,
    slot: null,
    signal: new AbortController().signal,
    log: pino({ level: 'silent' }),
    db,
  });
}
