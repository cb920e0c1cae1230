import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type ConfigOverride, configOf, NO_OVERRIDE } from '../../contract/override.ts';
import { effectiveConfig } from '../../engine/effective-config.ts';
import { managerRegistry, nightly, sweep } from '../../testing/manager-context.ts';
import { triggered } from '../../testing/test-jobs.ts';
import { type ConfigPatch, configPatch } from './config-patch.ts';
import { decideChange } from './decide-change.ts';

const overridden = (patch: Partial<ConfigOverride>) => ({ ...NO_OVERRIDE, ...patch });

const patches: fc.Arbitrary<ConfigPatch> = fc.record(
  {
    enabled: fc.option(fc.boolean()),
    schedule: fc.option(fc.constantFrom('', '* * * * *', '0 3 * * *', '@every 5m')),
    timezone: fc.option(fc.constantFrom('UTC', 'Europe/Berlin')),
    timeoutMs: fc.option(fc.integer({ min: 1_000, max: 86_400_000 })),
    maxAttempts: fc.option(fc.integer({ min: 1, max: 100 })),
    queue: fc.option(fc.constantFrom('default', 'batch')),
    priority: fc.option(fc.integer({ min: -100, max: 100 })),
  },
  { requiredKeys: [] },
);

describe('decideChange', () => {
  it('changes what is named and nothing else', () => {
    const change = decideChange(nightly, NO_OVERRIDE, { maxAttempts: 7 });
    expect(change).toMatchObject({
      override: { ...NO_OVERRIDE, maxAttempts: 7 },
      changed: ['maxAttempts'],
      needsReason: null,
    });
    expect(change.after).toEqual({ ...configOf(nightly), maxAttempts: 7 });
  });

  it('drops an override that says what the code says', () => {
    const change = decideChange(nightly, overridden({ maxAttempts: 7 }), {
      maxAttempts: nightly.maxAttempts,
    });
    expect(change.override).toEqual(NO_OVERRIDE);
    expect(change.changed).toEqual(['maxAttempts']);
  });

  it.each([
    ['nothing', {}],
    ['what the code says', { enabled: true, schedule: '0 3 * * *', timeoutMs: 300_000 }],
    ['the same schedule with other blanks', { schedule: ' 0  3 * * * ' }],
  ])('finds nothing to change in %s', (_what, patch) => {
    expect(decideChange(nightly, NO_OVERRIDE, patch).changed).toEqual([]);
  });

  it.each([
    ['disabling', NO_OVERRIDE, { enabled: false }, 'it disables the job'],
    [
      'a new schedule',
      NO_OVERRIDE,
      { schedule: '0 4 * * *' },
      'it changes the schedule of an enabled job',
    ],
    ['no schedule', NO_OVERRIDE, { schedule: '' }, 'it changes the schedule of an enabled job'],
    [
      'another time zone',
      NO_OVERRIDE,
      { timezone: 'UTC' },
      'it changes the schedule of an enabled job',
    ],
    [
      'a reset of the schedule',
      overridden({ schedule: '0 4 * * *' }),
      { ...NO_OVERRIDE },
      'it changes the schedule of an enabled job',
    ],
    ['a new schedule of a disabled job', overridden({ enabled: false }), { schedule: '' }, null],
    ['enabling', overridden({ enabled: false }), { enabled: true }, null],
    ['another queue', NO_OVERRIDE, { queue: 'batch', priority: 5 }, null],
  ] as const)('knows whether %s needs a reason', (_what, current, patch, needsReason) => {
    expect(decideChange(nightly, current, patch).needsReason).toBe(needsReason);
  });

  it('needs a reason when a reset disables what the code disables', () => {
    const off = { ...nightly, enabled: false };
    const change = decideChange(off, overridden({ enabled: true }), { ...NO_OVERRIDE });
    expect(change.needsReason).toBe('it disables the job');
  });

  it.each([
    ['a schedule for Kestra’s', triggered.coalesce, { schedule: '* * * * *' }, /flow in kestra/],
    ['a queue for an inline job', sweep, { queue: 'batch' }, /queue: an inline job has only/],
    ['11 s for an inline job', sweep, { timeoutMs: 11_000 }, /at most 10 s/],
  ] as const)('refuses %s', (_what, definition, patch, message) => {
    expect(() => decideChange(definition, NO_OVERRIDE, patch)).toThrow(message);
  });

  it('lets an inline job be reset and changed where it can be', () => {
    const change = decideChange(sweep, NO_OVERRIDE, { ...NO_OVERRIDE, timeoutMs: 5_000 });
    expect(change.changed).toEqual(['timeoutMs']);
  });

  it('keeps no override that equals the code, and agrees with the effective configuration', () => {
    fc.assert(
      fc.property(patches, patches, (first, second) => {
        const { override } = decideChange(nightly, NO_OVERRIDE, first);
        const change = decideChange(nightly, override, second);
        const defaults = configOf(nightly);
        for (const [field, value] of Object.entries(change.override)) {
          expect(value).not.toBe(defaults[field as keyof typeof defaults]);
        }
        expect(change.after).toEqual(effectiveConfig(nightly, change.override));
        // The same patch again changes nothing.
        expect(decideChange(nightly, change.override, second).changed).toEqual([]);
      }),
    );
  });
});

describe('configPatch', () => {
  it.each([
    { timeoutMs: 999 },
    { timeoutMs: 86_400_001 },
    { maxAttempts: 0 },
    { maxAttempts: 1.5 },
    { priority: 101 },
    { schedule: '* * * *' },
    { schedule: '@every 30s' },
    { timezone: 'Mars/Olympus' },
    { queue: '' },
    { enabled: 'no' },
    { color: 'red' },
  ])('refuses %j', (patch) => {
    expect(configPatch.safeParse(patch).success).toBe(false);
  });
});

describe('managerRegistry', () => {
  it('has the definitions of these tests', () => {
    expect(managerRegistry.definitions.get('test.nightly')).toBe(nightly);
  });
});
