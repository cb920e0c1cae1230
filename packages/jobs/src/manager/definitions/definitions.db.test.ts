import { setTimeout as sleep } from 'node:timers/promises';

import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { createJobClient } from '../../engine/enqueue-run.ts';
import { managerContext, nightly, sweep } from '../../testing/manager-context.ts';
import { ok, slow, triggered } from '../../testing/test-jobs.ts';
import { until } from '../../testing/until.ts';
import { useWorkers } from '../../testing/use-workers.ts';
import { bulkUpdateDefinitions } from './bulk-update-definitions.ts';
import { listChanges } from './list-changes.ts';
import { getDefinition, listDefinitions, listScheduled } from './list-definitions.ts';
import { previewChange } from './preview-change.ts';
import { resetDefinition } from './reset-definition.ts';
import { restoreDefinition } from './restore-definition.ts';
import { runNow } from './run-now.ts';
import { updateDefinition } from './update-definition.ts';

const database = useDatabase();
const start = useWorkers(database);
const grace = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');

async function audited(): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `select action, outcome, actor_label as who, subject_kind as kind, subject, reason, request_id, detail
       from millrace.audit_events order by id`,
  );
  return rows;
}

const count = async (table: string): Promise<number> => {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::integer as count from millrace.${table}`,
  );
  return rows[0]?.count ?? -1;
};

describe('updateDefinition', () => {
  it('writes override, history and audit, and answers what holds', async () => {
    const context = grace();
    const answer = await updateDefinition(context, {
      name: nightly.name,
      version: 0,
      reason: 'too early',
      patch: { schedule: '0 5 * * *', maxAttempts: 9 },
    });

    expect(answer).toMatchObject({
      version: 1,
      modified: true,
      updatedBy: 'Grace',
      effective: { schedule: '0 5 * * *', maxAttempts: 9, timezone: 'Europe/Berlin' },
      defaults: { schedule: '0 3 * * *', maxAttempts: 3 },
    });
    const { changes } = await listChanges(context, { name: nightly.name });
    expect(changes).toMatchObject([
      {
        version: 1,
        before: {},
        after: { schedule: '0 5 * * *', maxAttempts: 9 },
        reason: 'too early',
        actorLabel: 'Grace',
        requestId: context.requestId,
      },
    ]);
    expect(await audited()).toMatchObject([
      {
        action: 'jobs.definition.changed',
        outcome: 'done',
        who: 'Grace',
        kind: 'definition',
        subject: nightly.name,
        reason: 'too early',
        request_id: context.requestId,
        detail: { version: 1, kind: 'update', before: {} },
      },
    ]);
  });

  it('lets one of two who saw the same version win, and tells the other who and what', async () => {
    const save = (who: string, maxAttempts: number) =>
      updateDefinition(managerContext(database, 'operator', who), {
        name: nightly.name,
        version: 0,
        patch: { maxAttempts },
      });
    const answers = await Promise.allSettled([save('Grace', 5), save('Ada', 6)]);

    const winner = answers[0].status === 'fulfilled' ? 'Grace' : 'Ada';
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: {
        code: 'job_definition_version_conflict',
        message: expect.stringContaining(winner),
        details: { version: 1, updatedBy: winner },
      },
    });
    expect([await count('definition_changes'), await count('audit_events')]).toEqual([1, 1]);
  });

  it('writes nothing when nothing changes', async () => {
    const answer = await updateDefinition(grace(), {
      name: nightly.name,
      version: 0,
      patch: { enabled: true, schedule: '0 3 * * *' },
    });
    expect(answer).toMatchObject({ version: 0, modified: false });
    for (const table of ['definition_overrides', 'definition_changes', 'audit_events']) {
      expect(await count(table)).toBe(0);
    }
  });

  it.each([
    ['disabling', { enabled: false }],
    ['a change of the schedule', { schedule: '0 4 * * *' }],
    ['a change of the time zone', { timezone: 'UTC' }],
  ])('refuses %s without a reason, and a blank one', async (_what, patch) => {
    const save = (reason?: string) =>
      updateDefinition(grace(), {
        name: nightly.name,
        version: 0,
        patch,
        ...(reason && { reason }),
      });
    await expect(save()).rejects.toMatchObject({ code: 'job_reason_required' });
    await expect(save('  ')).rejects.toMatchObject({ code: 'invalid_job_config' });
    expect(await count('definition_overrides')).toBe(0);
  });

  it.each([
    [{ name: 'test.unknown', patch: {} }, 'job_definition_not_found'],
    [{ name: nightly.name, patch: { maxAttempts: 101 } }, 'invalid_job_config'],
    [{ name: nightly.name, patch: { schedule: 'often' } }, 'invalid_job_config'],
    [{ name: triggered.skip.name, patch: { schedule: '* * * * *' } }, 'invalid_job_config'],
    [{ name: sweep.name, patch: { queue: 'batch' } }, 'invalid_job_config'],
    [{ name: nightly.name, patch: { queue: 'batch' } }, 'queue_not_active'],
    [{ name: nightly.name, patch: { queue: 'nowhere' } }, 'queue_not_active'],
  ])('refuses %j', async (input, code) => {
    const refused = updateDefinition(grace(), { version: 0, ...input });
    await expect(refused).rejects.toMatchObject({ code });
    expect(await count('definition_overrides')).toBe(0);
  });

  it('is denied to a viewer, and that is audited', async () => {
    const denied = updateDefinition(viewer(), {
      name: nightly.name,
      version: 0,
      patch: { maxAttempts: 5 },
    });
    await expect(denied).rejects.toMatchObject({ code: 'forbidden' });
    expect(await count('definition_overrides')).toBe(0);
    expect(await audited()).toMatchObject([
      { action: 'definitions.update', outcome: 'denied', who: 'Vera', subject: nightly.name },
    ]);
  });
});

describe('what was changed', () => {
  const save = async (name: string, patch: object, version = 0) =>
    updateDefinition(grace(), { name, version, patch, reason: 'a test' });

  it('holds for runs that are enqueued afterwards, whoever enqueues them', async () => {
    await start({ queues: ['default', 'batch'] });
    const client = createJobClient({ pool: database.pool });
    const before = await client.enqueue(slow, {}, { delayMs: 3_600_000 });
    await save(slow.name, { queue: 'batch', priority: 7, maxAttempts: 11 });
    const after = await client.enqueue(slow, {}, { delayMs: 3_600_000, priority: 3 });
    const { rows } = await database.pool.query<{ run: string }>(
      `select millrace.enqueue($1, '{}', 'default', 4, '{"delayMs": 3600000}') as run`,
      [slow.name],
    );

    const configOf = async (id: string | undefined) => {
      const run = await database.db.run.findUniqueOrThrow({ where: { id: id ?? '' } });
      return [run.queue, run.priority, run.maxAttempts];
    };
    expect(await configOf(before.runId)).toEqual(['default', 0, 2]);
    expect(await configOf(after.runId)).toEqual(['batch', 7, 11]);
    expect(await configOf(rows[0]?.run)).toEqual(['batch', 7, 11]);
  });

  it('sets the timeout of attempts that start within 2 s, and the run says which version', async () => {
    await start();
    await save(slow.name, { timeoutMs: 1_000, maxAttempts: 1 });
    await sleep(2_000);
    const { runId } = await createJobClient({ pool: database.pool }).enqueue(slow, {});
    await until('it runs into its new timeout', async () => {
      const run = await database.db.run.findUniqueOrThrow({ where: { id: runId } });
      return run.endCode === 'timed_out' && run.configVersion === 1;
    });
  });

  it('refuses triggers of a disabled definition and still runs what is queued', async () => {
    const client = createJobClient({ pool: database.pool });
    const { runId } = await client.enqueue(ok, {});
    await save(ok.name, { enabled: false });
    await expect(runNow(grace(), { name: ok.name })).rejects.toMatchObject({
      code: 'job_definition_disabled',
    });
    const later = await client.enqueue(ok, {});
    await start();
    await until('both have run', async () => {
      const done = { state: 'succeeded', id: { in: [runId, later.runId] } };
      return (await database.db.run.count({ where: done })) === 2;
    });
  });
});

describe('resetDefinition and restoreDefinition', () => {
  const save = (version: number, patch: object, reason = 'a test') =>
    updateDefinition(grace(), { name: nightly.name, version, patch, reason });

  it('go back, each as a new version with its own rows', async () => {
    await save(0, { maxAttempts: 5 });
    await save(1, { maxAttempts: 6, enabled: false });
    const reset = await resetDefinition(grace(), { name: nightly.name, version: 2 });
    expect(reset).toMatchObject({ version: 3, modified: false, effective: { maxAttempts: 3 } });

    const restored = await restoreDefinition(grace(), { name: nightly.name, version: 3, to: 1 });
    expect(restored).toMatchObject({ version: 4, effective: { maxAttempts: 5, enabled: true } });
    const original = await restoreDefinition(grace(), { name: nightly.name, version: 4, to: 0 });
    expect(original).toMatchObject({ version: 5, modified: false });

    expect((await audited()).map(({ detail }) => (detail as { kind: string }).kind)).toEqual([
      'update',
      'update',
      'reset',
      'restore',
      'restore',
    ]);
  });

  it('need a reason when they disable or change a schedule', async () => {
    await save(0, { schedule: '0 4 * * *' });
    const reset = { name: nightly.name, version: 1 };
    await expect(resetDefinition(grace(), reset)).rejects.toMatchObject({
      code: 'job_reason_required',
    });
    await resetDefinition(grace(), { ...reset, reason: 'back to normal' });
    await expect(
      restoreDefinition(grace(), { name: nightly.name, version: 2, to: 1 }),
    ).rejects.toMatchObject({ code: 'job_reason_required' });
  });

  it('refuse a version that never was, and change nothing the second time', async () => {
    await save(0, { maxAttempts: 5 });
    await expect(
      restoreDefinition(grace(), { name: nightly.name, version: 1, to: 9 }),
    ).rejects.toMatchObject({ code: 'invalid_job_config' });
    await resetDefinition(grace(), { name: nightly.name, version: 1 });
    await resetDefinition(grace(), { name: nightly.name, version: 2 });
    expect(await count('definition_changes')).toBe(2);
  });

  it('are denied to a viewer', async () => {
    const reset = resetDefinition(viewer(), { name: nightly.name, version: 0 });
    await expect(reset).rejects.toMatchObject({ code: 'forbidden' });
    const restore = restoreDefinition(viewer(), { name: nightly.name, version: 0, to: 0 });
    await expect(restore).rejects.toMatchObject({ code: 'forbidden' });
    expect((await audited()).map(({ action, outcome }) => [action, outcome])).toEqual([
      ['definitions.reset', 'denied'],
      ['definitions.restore', 'denied'],
    ]);
  });
});

describe('reading definitions', () => {
  it('shows every definition with its last run, and overrides that the code no longer has', async () => {
    const { runId } = await createJobClient({ pool: database.pool }).enqueue(ok, {});
    await database.pool.query(
      `insert into millrace.definition_overrides (definition, enabled, version, updated_by)
       values ('test.gone', false, 3, 'Ada')`,
    );
    database.allowViolations(); // it has no history
    const { definitions, orphaned } = await listDefinitions(viewer(), {});

    const find = (name: string) => definitions.find((each) => each.name === name);
    expect(find(ok.name)?.lastRun).toEqual({ id: runId, status: 'queued', finishedAt: null });
    expect(find(nightly.name)).toMatchObject({ lastRun: null, nextSlot: expect.any(Date) });
    expect(orphaned).toMatchObject([{ name: 'test.gone', version: 3, updatedBy: 'Ada' }]);
    expect((await getDefinition(viewer(), { name: sweep.name })).effective.timeoutMs).toBe(10_000);
    await expect(getDefinition(viewer(), { name: 'test.gone' })).rejects.toMatchObject({
      code: 'job_definition_not_found',
    });
  });

  it('lists what is scheduled while it is enabled', async () => {
    const scheduled = await listScheduled(viewer(), { slots: 2 });
    expect(scheduled).toMatchObject([{ name: nightly.name, timezone: 'Europe/Berlin' }]);
    expect(scheduled[0]?.nextSlots).toHaveLength(2);
    const off = { name: nightly.name, version: 0, reason: 'x', patch: { enabled: false } };
    await updateDefinition(grace(), off);
    expect(await listScheduled(viewer(), {})).toEqual([]);
  });

  it('previews a change and writes nothing', async () => {
    await createJobClient({ pool: database.pool }).enqueue(slow, {}, { delayMs: 3_600_000 });
    const preview = await previewChange(viewer(), {
      name: nightly.name,
      patch: { schedule: '30 4 * * *' },
    });
    expect(preview).toMatchObject({
      changed: ['schedule'],
      needsReason: 'it changes the schedule of an enabled job',
      version: 0,
      waitingRuns: 0,
    });
    expect(preview.slotsBefore).toHaveLength(10);
    expect(preview.slotsAfter).toHaveLength(10);
    expect(await previewChange(viewer(), { name: slow.name, patch: {} })).toMatchObject({
      waitingRuns: 1,
      changed: [],
    });
    expect(await count('audit_events')).toBe(0);
  });
});

describe('runNow', () => {
  it('starts a run for a person, and a second one joins it while it waits', async () => {
    const first = await runNow(grace(), { name: ok.name, reason: 'to see' });
    const second = await runNow(grace(), { name: ok.name });
    expect([first.verdict, second.verdict]).toEqual(['started', 'joined']);
    expect(second.runId).toBe(first.runId);
    const run = await database.db.run.findUniqueOrThrow({ where: { id: first.runId } });
    expect(run).toMatchObject({ trigger: 'manual', exclusive: true });
    expect(run.context).toMatchObject({ actor: { kind: 'user', label: 'Grace' } });
    expect(JSON.stringify(run.context)).not.toContain('ops.jobs');
    expect((await audited()).map(({ action, detail }) => [action, detail])).toEqual([
      ['jobs.definition.run_requested', { runId: first.runId, verdict: 'started' }],
      ['jobs.definition.run_requested', { runId: first.runId, verdict: 'joined' }],
    ]);
  });

  it.each([
    [sweep.name, 'invalid_job_state'],
    ['test.unknown', 'job_definition_not_found'],
  ])('refuses %s', async (name, code) => {
    await expect(runNow(grace(), { name })).rejects.toMatchObject({ code });
  });

  it('is denied to a viewer', async () => {
    await expect(runNow(viewer(), { name: ok.name })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await count('runs')).toBe(0);
    expect(await audited()).toMatchObject([{ outcome: 'denied', subject: ok.name }]);
  });
});

describe('bulkUpdateDefinitions', () => {
  const both = [
    { name: nightly.name, version: 0 },
    { name: ok.name, version: 0 },
  ];

  it('changes all of them with one audit row each', async () => {
    const off = { definitions: both, enabled: false, reason: 'maintenance' };
    const answer = await bulkUpdateDefinitions(grace(), off);
    expect(answer.map(({ effective }) => effective.enabled)).toEqual([false, false]);
    expect(await count('audit_events')).toBe(2);
  });

  it('changes none when one of them cannot be', async () => {
    const stale = [...both, { name: slow.name, version: 4 }];
    const refused = bulkUpdateDefinitions(grace(), {
      definitions: stale,
      enabled: false,
      reason: 'x',
    });
    await expect(refused).rejects.toMatchObject({ code: 'job_definition_version_conflict' });
    expect(await count('definition_overrides')).toBe(0);
    expect(await count('audit_events')).toBe(0);
  });

  it('is denied to a viewer', async () => {
    const denied = bulkUpdateDefinitions(viewer(), { definitions: both, enabled: false });
    await expect(denied).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('the audit', () => {
  it.each([
    `update millrace.audit_events set reason = 'another'`,
    'delete from millrace.audit_events',
    'truncate millrace.audit_events',
  ])('refuses "%s"', async (statement) => {
    await expect(database.pool.query(statement)).rejects.toThrow('append-only');
  });
});
