import { inTransaction } from '@millrace/db/transaction';
import type pg from 'pg';
import type { z } from 'zod';

import type { Registry } from '../authoring/registry.ts';
import type { Caller } from '../contract/caller.ts';
import type { AuditEntry, AuditSubject } from '../contract/audit.ts';
import { JobError, type JobErrorCode } from '../contract/errors.ts';
import { isStorable } from '../contract/storable.ts';
import type { Permission } from '../contract/permission.ts';
import { recordAudit } from './sql/record-audit.ts';

/** What every verb is called with: who asks, and what they ask of. */
export interface ManagerContext {
  readonly pool: pg.Pool;
  readonly registry: Registry;
  readonly actor: Caller;
  readonly requestId: string;
}

/** A verb's transaction. What it reads and writes goes through `tx`. */
export interface VerbScope extends ManagerContext {
  readonly tx: pg.PoolClient;
}

/** What a verb that writes must answer: without an audit entry nothing was changed. */
export interface Written<Output> {
  readonly output: Output;
  readonly audit: AuditEntry | readonly AuditEntry[] | null;
}

interface VerbSpec<Schema extends z.ZodType> {
  /** `noun.verb`, as denied calls are audited. */
  readonly name: string;
  readonly permission: Permission;
  readonly input: Schema;
  /** The code of a refused input; `invalid_request` unless given. */
  readonly invalid?: JobErrorCode;
  /** Of which subject a denied call is audited; the verb itself unless given. */
  readonly subject?: (input: z.output<Schema>) => AuditSubject;
}

/** An operators' use case, with what routers and tests ask about it. */
export interface Verb<Schema extends z.ZodType, Output> {
  (context: ManagerContext, input: z.input<Schema>): Promise<Output>;
  readonly verb: string;
  readonly permission: Permission;
  readonly input: Schema;
}

/** Longer than any statement of a verb takes: a list that is slower helps nobody. */
const STATEMENT_TIMEOUT_MS = 5_000;

/** A verb that changes nothing: permission, input, then one transaction that cannot write. */
export function defineRead<Schema extends z.ZodType, Output>(
  spec: VerbSpec<Schema> & {
    readonly read: (scope: VerbScope, input: z.output<Schema>) => Promise<Output>;
  },
): Verb<Schema, Output> {
  return toVerb(spec, async (context, input) =>
    inTransaction(
      context.pool,
      { mode: 'repeatable read read only', statementTimeoutMs: STATEMENT_TIMEOUT_MS },
      (tx) => spec.read({ ...context, tx }, input),
    ),
  );
}

/**
 * A verb that changes something: permission, input, one transaction with what it does and its audit
 * rows. A denied call changes nothing but is audited.
 */
export function defineWrite<Schema extends z.ZodType, Output>(
  spec: VerbSpec<Schema> & {
    readonly write: (scope: VerbScope, input: z.output<Schema>) => Promise<Written<Output>>;
  },
): Verb<Schema, Output> {
  return toVerb(spec, async (context, input) =>
    inTransaction(context.pool, { statementTimeoutMs: STATEMENT_TIMEOUT_MS }, async (tx) => {
      const { output, audit } = await spec.write({ ...context, tx }, input);
      const entries = audit === null ? [] : Array.isArray(audit) ? audit : [audit as AuditEntry];
      for (const entry of entries as readonly AuditEntry[]) await record(tx, context, entry);
      return output;
    }),
  );
}

function toVerb<Schema extends z.ZodType, Output>(
  spec: VerbSpec<Schema>,
  act: (context: ManagerContext, input: z.output<Schema>) => Promise<Output>,
): Verb<Schema, Output> {
  const verb = async (context: ManagerContext, given: z.input<Schema>): Promise<Output> => {
    const parsed = isStorable(given) ? spec.input.safeParse(given) : null;
    if (!context.actor.permissions.includes(spec.permission)) {
      await recordDenial(context, spec, parsed?.data);
      throw new JobError('forbidden', `This needs the permission ${spec.permission}.`, {
        details: { permission: spec.permission },
      });
    }
    if (!parsed?.success) {
      const why = parsed
        ? describe(parsed.error)
        : 'A string holds a NUL character or half a surrogate pair.';
      throw new JobError(spec.invalid ?? 'invalid_request', why);
    }
    return act(context, parsed.data);
  };
  return Object.assign(verb, {
    verb: spec.name,
    permission: spec.permission,
    input: spec.input,
  });
}

function describe({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ');
}

async function recordDenial<Schema extends z.ZodType>(
  context: ManagerContext,
  { name, permission, subject }: VerbSpec<Schema>,
  input: z.output<Schema> | undefined,
): Promise<void> {
  const about = input !== undefined && subject ? subject(input) : { kind: 'verb', id: name };
  const { actor, requestId } = context;
  await context.pool.query({
    ...recordAudit,
    values: [
      name,
      'denied',
      actor.kind,
      actor.id,
      actor.label,
      about.kind,
      about.id,
      null,
      requestId,
      { permission },
    ],
  });
}

async function record(
  tx: pg.PoolClient,
  { actor, requestId }: ManagerContext,
  { action, subject, reason, detail }: AuditEntry,
): Promise<void> {
  await tx.query({
    ...recordAudit,
    values: [
      action,
      'done',
      actor.kind,
      actor.id,
      actor.label,
      subject.kind,
      subject.id,
      reason ?? null,
      requestId,
      detail ?? {},
    ],
  });
}
