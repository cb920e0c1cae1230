import type { HandlerContext } from '@millrace/jobs/authoring/handler';
import type { ErasedHandler } from '@millrace/jobs/authoring/registry';

import { endInLedger, startInLedger } from './ledger.ts';

/** Wraps the work of a job in its two ledger entries. */
export function recorded<Args>(
  work: (ctx: HandlerContext, args: Args) => Promise<void>,
  misbehaves: (ctx: HandlerContext) => boolean = () => false,
): ErasedHandler {
  return async (args: never, ctx: HandlerContext) => {
    const entry = { runId: ctx.runId, execution: ctx.execution, faulty: misbehaves(ctx) };
    await startInLedger(ctx.db, entry);
    await work(ctx, args);
    await endInLedger(ctx.db, entry);
  };
}
