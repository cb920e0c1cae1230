import { useDatabase } from '@millrace/db/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type ConfigOverride, NO_OVERRIDE } from '../contract/override.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { managerRegistry, sweep } from '../testing/manager-context.ts';
import { ok } from '../testing/test-jobs.ts';
import { createTestRegistry } from '../testing/test-handlers.ts';
import { until } from '../testing/until.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { effectiveConfig } from './effective-config.ts';
import { createJobClient } from './enqueue-run.ts';
import { publishDefinitions } from './publish-definitions.ts';

const database = useDatabase();
const start = useWorkers(database);

async function override(definition: string, fields: Partial<ConfigOverride>): Promise<void> {
  const { enabled, schedule, timezone, timeoutMs, maxAttempts, queue, priority } = {
    ...NO_OVERRIDE,
    ...fields,
  };
  await database.pool.query(
    `insert into millrace.definition_overrides
       (definition, enabled, schedule, timezone, timeout_ms, max_attempts, queue, priority, version, updated_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 1, 'a test')
     on conflict (definition) do update set enabled = $2, schedule = $3, timezone = $4, timeout_ms = $5,
       max_attempts = $6, queue = $7, priority = $8`,
    [definition, enabled, schedule, timezone, timeoutMs, maxAttempts, queue, priority],
  );
}

const overrides: fc.Arbitrary<ConfigOverride> = fc.record({
  enabled: fc.option(fc.boolean()),
  schedule: fc.option(fc.constantFrom('', '* * * * *')),
  timezone: fc.option(fc.constantFrom('UTC', 'Europe/Berlin')),
  timeoutMs: fc.option(fc.integer({ min: 1_000, max: 86_400_000 })),
  maxAttempts: fc.option(fc.integer({ min: 1, max: 100 })),
  queue: fc.option(fc.constantFrom('default', 'batch', 'mail')),
  priority: fc.option(fc.integer({ min: -100, max: 100 })),
});

describe('the effective configuration', () => {
  it('is what the database applies at enqueue and at a trigger', async () => {
    database.allowViolations(); // overrides without a history
    const client = createJobClient({ pool: database.pool });
    await fc.assert(
      fc.asyncProperty(overrides, async (given) => {
        await override(ok.name, given);
        const effective = effectiveConfig(ok, given);
        const { runId } = await client.enqueue(ok, {});
        const run = await database.db.run.findUniqueOrThrow({ where: { id: runId } });
        expect([run.queue, run.priority, run.maxAttempts]).toEqual([
          effective.queue,
          effective.priority,
          effective.maxAttempts,
        ]);
        const { rows } = await database.pool.query<{ enabled: boolean }>(
          'select millrace.is_enabled($1, $2) as enabled',
          [ok.name, ok.enabled],
        );
        expect(rows[0]?.enabled).toBe(effective.enabled);
      }),
      { numRuns: 60 },
    );
  });

  it('of an inline definition has only what it can have', () => {
    const given = { ...NO_OVERRIDE, enabled: false, timeoutMs: 2_000, queue: 'batch', priority: 9 };
    expect(effectiveConfig(sweep, given)).toMatchObject({
      enabled: false,
      timeoutMs: 2_000,
      queue: '',
      priority: 0,
    });
  });
});

describe('a definition that was renamed', () => {
  const renamed = createRegistry({
    definitions: [{ ...ok, name: 'test.renamed', formerNames: [ok.name] }],
    queues: { default: { concurrency: 2, prefetch: 0 } },
  });

  it('keeps override and history', async () => {
    database.allowViolations(); // the history was not written by a verb
    await publishDefinitions(database.pool, managerRegistry, '1');
    await override(ok.name, { priority: 5 });
    await database.pool.query(
      `insert into millrace.definition_changes
         (definition, version, before, after, actor_kind, actor_id, actor_label, request_id)
       values ($1, 1, '{}', '{"priority": 5}', 'user', '1', 'Grace', '1')`,
      [ok.name],
    );
    await publishDefinitions(database.pool, renamed, '2');
    await publishDefinitions(database.pool, renamed, '2'); // a second process

    expect(await database.db.definitionOverride.findMany()).toMatchObject([
      { definition: 'test.renamed', priority: 5, version: 1 },
    ]);
    expect(await database.db.definitionChange.findMany()).toMatchObject([
      { definition: 'test.renamed', version: 1 },
    ]);
    const manifests = await database.db.definitionManifest.findMany({
      where: { definition: { in: [ok.name, 'test.renamed'] } },
    });
    expect(manifests).toMatchObject([
      { definition: 'test.renamed', codeVersion: '2', formerNames: [ok.name] },
    ]);
  });

  it('executes runs that were enqueued under its former name', async () => {
    const { runId } = await createJobClient({ pool: database.pool }).enqueue(ok, { note: 'old' });
    const jobs = createTestRegistry();
    const { loadHandler } = jobs.registry;
    await start({
      jobs: {
        ...jobs,
        registry: { ...renamed, ...(loadHandler && { loadHandler: () => loadHandler(ok.name) }) },
      },
    });
    await until('it has succeeded', async () => {
      const run = await database.db.run.findUniqueOrThrow({ where: { id: runId } });
      return run.state === 'succeeded';
    });
  });
});
