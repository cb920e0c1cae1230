import { z } from 'zod';

/** Who can act: a person, an API token, the scheduler, or Millrace itself. */
export const ACTOR_KINDS = ['user', 'token', 'scheduler', 'system'] as const;

const printable = (max: number) => z.string().regex(new RegExp(`^[\\x20-\\x7e]{1,${max}}$`));
const text = z.string().regex(/^[^\0\p{Cs}]{1,200}$/u, 'must have 1 to 200 characters');

const requestId = printable(200);
/** W3C Trace Context: version, trace, parent and flags; neither id may be all zeros. */
const traceparent = z
  .string()
  .regex(/^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/);
const tracestate = printable(512);
const actor = z.object({
  kind: z.enum(ACTOR_KINDS),
  id: text,
  label: text,
  orgId: text.nullish().transform((id) => id ?? null),
});

/**
 * Who acts. Never what they may do: what a run does for somebody is authorised when it is enqueued.
 */
export type Actor = Readonly<z.output<typeof actor>>;

// A trace is worth nothing that work should fail for: what is not valid is left out (W3C asks for that).
const trace = {
  traceparent: traceparent.optional().catch(undefined),
  tracestate: tracestate.optional().catch(undefined),
};
const runContext = z.object({ requestId: requestId.optional(), actor: actor.optional(), ...trace });
const storedContext = z.object({
  requestId: requestId.optional().catch(undefined),
  actor: actor.optional().catch(undefined),
  ...trace,
});

/** What travels with a run from the request that caused it to the handler. */
export interface RunContext {
  readonly requestId?: string | undefined;
  /** W3C Trace Context; the active OpenTelemetry span's unless given. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** On whose behalf the run is enqueued. */
  readonly actor?:
    (Omit<Actor, 'orgId'> & { readonly orgId?: string | null | undefined }) | undefined;
}

/** A context as it is stored and read. */
export type StoredContext = Readonly<z.output<typeof storedContext>>;

/**
 * The context without anything that does not belong into it, permissions above all. Throws a
 * `TypeError` for a request id or an actor that is not valid.
 */
export function parseRunContext(context: RunContext): StoredContext {
  const parsed = runContext.safeParse(context);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new TypeError(`context: ${faults.join('; ')}`);
}

/** What can be read of a stored context, whoever wrote it. */
export function readRunContext(stored: unknown): StoredContext {
  return storedContext.safeParse(stored).data ?? {};
}

/** The actor of every handler: Millrace, in the organisation of whoever caused the run. */
export function jobsActor(onBehalfOf: Actor | null): Actor {
  return { kind: 'system', id: 'jobs', label: 'system:jobs', orgId: onBehalfOf?.orgId ?? null };
}
