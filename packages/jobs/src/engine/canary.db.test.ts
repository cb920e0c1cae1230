/**
 * Arguments hold what nobody may see. A canary is put into them and comes up wherever a handler can
 * carry it; afterwards nothing but the arguments themselves may hold it.
 */
import { useDatabase } from '@millrace/db/testing';
import { trace } from '@opentelemetry/api';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineJob } from '../authoring/define-job.ts';
import type { HandlerContext, HandlerResult } from '../authoring/handler.ts';
import { cancel, fatal, type Outcome } from '../authoring/outcome.ts';
import type { ErasedHandler } from '../authoring/registry.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { until } from '../testing/until.ts';
import { useTelemetry } from '../testing/use-telemetry.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { createJobClient, type JobClient } from './enqueue-run.ts';
import { currentExecution } from './execute-run.ts';

/** Not the name of a file: stacks quote those. */
const CANARY = 'tweety7';
/** Each in a shape of its own: plain, with what JSON and URLs escape, in lines, as a key. */
const SECRETS = {
  plain: `${CANARY}@example.org`,
  quoted: `say "${CANARY}" \\ 'again'`,
  lines: `Dear ${CANARY},\nyour password is ${CANARY}-word\r\nBye, ${CANARY}`,
  long: `${CANARY} `.repeat(2_000),
  odd: `${CANARY} ümläut \u{1F600} &=?`,
};
const ARGS = {
  nested: { deep: [{ ...SECRETS }], byAddress: { [`${CANARY}@key.example`]: 1 } },
};
const all = Object.values(SECRETS).concat(`${CANARY}@key.example`);
const everySecret = all.join(' | ');

const leaky = defineJob({
  name: 'test.leaky',
  description: 'Tells everything.',
  args: z.object({ how: z.string(), nested: z.unknown() }),
  newArgs: () => ({ how: 'never', nested: null }),
  maxAttempts: 2,
  retry: { firstDelayMs: 1, factor: 1, maxDelayMs: 1, jitter: 0 },
});

type Leak = (ctx: HandlerContext) => HandlerResult | Outcome | Promise<HandlerResult | Outcome>;
const raise = (thrown: unknown): never => {
  throw thrown;
};
const LEAKS: Readonly<Record<string, Leak>> = {
  'throws an error': () => raise(new Error(everySecret, { cause: new Error(everySecret) })),
  'throws errors by their lines': () =>
    raise(
      new AggregateError(
        [new Error(everySecret)],
        `${CANARY}-word: your password is ${CANARY}-word`.slice(14),
      ),
    ),
  'throws a text': () => raise(everySecret),
  'throws an object': () => raise({ all, ...SECRETS, nested: { all } }),
  'throws what JSON wrote': () => raise(new Error(JSON.stringify(ARGS))),
  'throws a URL': () =>
    raise(new Error(`https://x.example/?to=${encodeURIComponent(SECRETS.odd)}`)),
  'throws by its name': () => raise(Object.assign(new Error('x'), { name: SECRETS.plain })),
  'is fatal': () => fatal(everySecret),
  cancels: () => cancel(everySecret),
  'returns it': () => ({ sent: all, [SECRETS.plain]: { ...SECRETS } }),
  'lets it escape': async () => {
    currentExecution()?.crash(new Error(everySecret));
    return new Promise<never>(() => {});
  },
  'quotes the database': async (ctx) => {
    await ctx.db.$queryRawUnsafe(`select '${SECRETS.plain}'::integer`);
    return {};
  },
  'logs it': (ctx) => {
    ctx.log.info(everySecret);
    ctx.log.warn({ ...ARGS, err: new Error(everySecret) }, 'to %s', SECRETS.plain);
    ctx.log.child({ to: SECRETS.odd }).error({ json: JSON.stringify(ARGS) });
    return {};
  },
  'makes progress with it': async (ctx) => {
    for (const secret of all) {
      ctx.progress(1, 2, `sending to ${secret}`);
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    return {};
  },
  'enqueues it': async (ctx) => {
    await ctx.enqueue(leaky, { how: 'ends', nested: ARGS.nested });
    return {};
  },
  ends: () => ({}),
};

const handler = (({ how }: { how: string }, ctx: HandlerContext) =>
  Promise.resolve().then(() => LEAKS[how]?.(ctx))) as unknown as ErasedHandler;
const jobs = {
  registry: createRegistry({
    definitions: [leaky],
    queues: { default: { concurrency: 10, prefetch: 0 } },
    handlers: { [leaky.name]: () => Promise.resolve(handler) },
  }),
  calls: [],
  releaseAll: () => undefined,
};

const telemetry = useTelemetry();
const database = useDatabase();
const start = useWorkers(database);
let client: JobClient;
beforeAll(() => {
  client = createJobClient({ pool: database.pool });
});

/** Every column of every table that holds text in some form and, of each, how many rows hold the canary. */
async function findings(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string; table: string; column: string }>(`
    select format('%s.%s.%s', n.nspname, c.relname, a.attname) as name,
           format('%I.%I', n.nspname, c.relname) as table, quote_ident(a.attname) as column
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
       and (n.nspname = 'millrace' or starts_with(n.nspname, 'gw_'))
       and format_type(a.atttypid, null) ~ '^(text|json|jsonb|character varying|tsvector|bytea)'
     order by 1`);
  const found: string[] = [];
  for (const { name, table, column } of rows) {
    const { rowCount } = await database.pool.query(
      `select from ${table} where strpos(${column}::text, $1) > 0
           or ${column}::text like '%' || encode($1::bytea, 'hex') || '%'`,
      [CANARY],
    );
    if (rowCount) found.push(name);
  }
  return found;
}

describe('arguments', () => {
  it.each(Object.keys(LEAKS))('stay where they are when a handler %s', async (how) => {
    const { logged } = await start({ jobs });
    const parent = trace.getTracer('test').startSpan('request');
    const { runId } = await client.enqueue(leaky, { how, ...ARGS }, { tags: ['leaky'] });
    parent.end();
    await until('all is over', async () => {
      const { rows } = await database.pool.query(
        'select from millrace.runs where finished_at is null',
      );
      return rows.length === 0;
    });
    const spans = () => telemetry.spans().filter(({ name }) => name === 'job test.leaky');
    await until('it is traced', () => spans().length > 0);

    expect(await findings()).toEqual(['millrace.runs.args']);
    expect(JSON.stringify(logged)).not.toContain(CANARY);
    expect(
      JSON.stringify(
        telemetry.spans().map(({ name, attributes, events, status, links }) => {
          return { name, attributes, events, status, links };
        }),
      ),
    ).not.toContain(CANARY);
    const measured = await telemetry.metrics();
    expect(measured).toContain('millrace_runs_finished_total{definition="test.leaky"');
    expect(measured).not.toContain(CANARY);
    // No label is an id.
    expect(measured).not.toContain(runId);
  });

  it('are found where they are, or this test would find nothing', async () => {
    await client.enqueue(leaky, { how: 'never', ...ARGS }, { tags: [CANARY] });
    await database.db.blob.create({
      data: { id: crypto.randomUUID(), kind: 'log', body: Buffer.from(`a ${CANARY}`) },
    });
    expect(await findings()).toEqual([
      'millrace.blobs.body',
      'millrace.runs.args',
      'millrace.runs.tags',
    ]);
  });
});
