import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type AbortReason, RunAborted } from '../authoring/handler.ts';
import { cancel, fatal, snooze } from '../authoring/outcome.ts';
import { TRANSITIONS } from '../contract/run-state.ts';
import { decideEnding, type Settled } from './decide-ending.ts';

const retry = { firstDelayMs: 1_000, factor: 2, maxDelayMs: 60_000, jitter: 0 };
const returned = (value?: unknown): Settled => ({ how: 'returned', value });
const threw = (error: unknown): Settled => ({ how: 'threw', error });
const aborted = (reason: AbortReason): Settled => threw(new RunAborted(reason));
const decide = (settled: Settled, [attempt, maxAttempts]: readonly [number, number]) =>
  decideEnding(settled, { attempt, maxAttempts }, retry, 0);

const FIRST = [1, 3] as const;
const SECOND = [2, 3] as const;
const LAST = [3, 3] as const;
const ONLY = [1, 1] as const;

const succeeded = {
  state: 'succeeded',
  outcome: 'succeeded',
  charged: true,
  delayMs: null,
  endCode: null,
};
const cancelled = {
  state: 'cancelled',
  outcome: 'cancelled',
  charged: true,
  delayMs: null,
  endCode: 'cancelled',
};
const fatally = {
  state: 'failed',
  outcome: 'failed',
  charged: true,
  delayMs: null,
  endCode: 'fatal',
};
const exhausted = { ...fatally, endCode: 'attempts_exhausted' };
const timedOut = {
  state: 'failed',
  outcome: 'timed_out',
  charged: true,
  delayMs: null,
  endCode: 'timed_out',
};
const retrying = (outcome: 'failed' | 'timed_out', delayMs: number) => ({
  state: 'retrying',
  outcome,
  charged: true,
  delayMs,
  endCode: null,
});
const uncharged = (state: 'queued' | 'retrying', outcome: string, delayMs: number) => ({
  state,
  outcome,
  charged: false,
  delayMs,
  endCode: null,
});

describe('decideEnding', () => {
  it.each([
    ['returns nothing', returned()],
    ['returns counts', returned({ count: 1 })],
    ['returns an error that is no outcome', returned(new Error('a value'))],
    ['returns an aborted error', returned(new RunAborted('timeout'))],
  ])('succeeds a run whose handler %s, on every attempt', (_what, settled) => {
    for (const attempt of [FIRST, SECOND, LAST, ONLY]) {
      expect(decide(settled, attempt)).toEqual(succeeded);
    }
  });

  it('retries a failed attempt later and later while attempts are left', () => {
    expect(decide(threw(new Error()), FIRST)).toEqual(retrying('failed', 1_000));
    expect(decide(threw(new Error()), SECOND)).toEqual(retrying('failed', 2_000));
  });

  it.each([
    ['an error', new Error()],
    ['a string', 'no error'],
    ['null', null],
    ['undefined', undefined],
    ['an object', { code: 1 }],
    ['an AbortError of its own', new DOMException('', 'AbortError')],
  ])('fails a run whose last attempt throws %s', (_what, error) => {
    expect(decide(threw(error), LAST)).toEqual(exhausted);
    expect(decide(threw(error), ONLY)).toEqual(exhausted);
  });

  it('retries an attempt that timed out, and names the timeout on the last', () => {
    expect(decide(aborted('timeout'), FIRST)).toEqual(retrying('timed_out', 1_000));
    expect(decide(aborted('timeout'), LAST)).toEqual(timedOut);
  });

  it.each([
    ['returned', returned],
    ['thrown', threw],
  ])('ends at once on a %s fatal or cancel, whatever attempts are left', (_how, settle) => {
    for (const attempt of [FIRST, LAST]) {
      expect(decide(settle(fatal('no')), attempt)).toEqual(fatally);
      expect(decide(settle(cancel('no')), attempt)).toEqual(cancelled);
    }
  });

  it.each([
    ['returned', returned],
    ['thrown', threw],
  ])('lets a %s snooze wait without a charge, also on the last attempt', (_how, settle) => {
    expect(decide(settle(snooze(50)), FIRST)).toEqual(uncharged('queued', 'snoozed', 50));
    expect(decide(settle(snooze(50)), LAST)).toEqual(uncharged('retrying', 'snoozed', 50));
  });

  it('cancels a run whose cancel was asked for', () => {
    expect(decide(aborted('cancelled'), FIRST)).toEqual(cancelled);
  });

  it.each(['shutdown', 'lease-lost'] as const)(
    'hands a run back at %s without a charge',
    (reason) => {
      expect(decide(aborted(reason), FIRST)).toEqual(uncharged('queued', 'handed_back', 0));
      expect(decide(aborted(reason), LAST)).toEqual(uncharged('retrying', 'handed_back', 0));
    },
  );
});

describe('decideEnding, for everything that can happen', () => {
  const reasons: readonly AbortReason[] = ['timeout', 'cancelled', 'shutdown', 'lease-lost'];
  const causes = fc.oneof(
    fc.anything(),
    fc.constantFrom(fatal('no'), cancel('no'), new Error('no')),
    fc.nat(1_000_000).map(snooze),
    fc.constantFrom(...reasons).map((reason) => new RunAborted(reason)),
  );
  const settled = fc.oneof(causes.map(returned), causes.map(threw));
  const attempts = fc
    .tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 100 }))
    .map(([a, b]) => ({ attempt: Math.min(a, b), maxAttempts: Math.max(a, b) }));
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const check = (
    holds: (
      ending: ReturnType<typeof decideEnding>,
      attempt: { attempt: number; maxAttempts: number },
    ) => boolean,
  ): void =>
    fc.assert(
      fc.property(settled, attempts, chance, (how, attempt, random) =>
        holds(decideEnding(how, attempt, { ...retry, jitter: 0.5 }, random), attempt),
      ),
    );

  it('never charges more attempts than there are', () => {
    check((ending, { attempt, maxAttempts }) => {
      const chargedThen = attempt - (ending.charged ? 0 : 1);
      return ending.delayMs === null || chargedThen < maxAttempts;
    });
  });

  it('charges all but snoozes and hand-backs', () => {
    check(
      ({ outcome, charged }) => charged === (outcome !== 'snoozed' && outcome !== 'handed_back'),
    );
  });

  it('goes only where a running run may go', () => {
    check(({ state }) => TRANSITIONS.running.includes(state));
  });

  it('gives a delay exactly to what waits again, and a code exactly to what failed or was cancelled', () => {
    check(
      ({ state, delayMs, endCode }) =>
        (delayMs !== null) === (state === 'queued' || state === 'retrying') &&
        (endCode !== null) === (state === 'failed' || state === 'cancelled'),
    );
  });

  it('lets a run wait as queued exactly when it has been charged nothing', () => {
    check(
      ({ state, charged }, { attempt }) => (state === 'queued') === (!charged && attempt === 1),
    );
  });
});
