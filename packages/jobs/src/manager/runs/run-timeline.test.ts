import { describe, expect, it } from 'vitest';

import { runTimeline } from './run-timeline.ts';

const T0 = Date.parse('2030-01-31T02:00:00Z');
const at = (seconds: number): Date => new Date(T0 + seconds * 1_000);
const run = {
  status: 'queued' as const,
  execution: 0,
  enqueuedAt: at(0),
  runAt: at(0),
  startedAt: null,
  finishedAt: null,
};
const execution = (n: number, waited: number, from: number, to: number, outcome = 'failed') => ({
  execution: n,
  outcome,
  waitedMs: waited * 1_000,
  startedAt: at(from),
  finishedAt: at(to),
});
const told = (...args: Parameters<typeof runTimeline>): string[] =>
  runTimeline(...args).map(({ kind, ms, execution: n, outcome }) =>
    [kind, ms === null ? 'on' : ms / 1_000, n, outcome].filter((part) => part !== null).join(' '),
  );

describe('runTimeline', () => {
  it('tells of a run that succeeded at once', () => {
    const ended = { ...run, status: 'succeeded' as const, finishedAt: at(5), startedAt: at(2) };
    expect(told(ended, [execution(1, 2, 2, 5, 'succeeded')])).toEqual([
      'waited 2',
      'executed 3 1 succeeded',
      'ended 0 succeeded',
    ]);
  });

  it('tells of a later time, a retry and an execution that goes on', () => {
    const running = {
      ...run,
      status: 'running' as const,
      execution: 2,
      runAt: at(30),
      startedAt: at(31),
    };
    expect(told(running, [execution(1, 1, 11, 20)])).toEqual([
      'delayed 10',
      'waited 1',
      'executed 9 1 failed',
      'delayed 10',
      'waited 1',
      'executed on 2',
    ]);
  });

  it.each([
    ['scheduled', { runAt: at(60) }, ['delayed on']],
    ['queued', { runAt: at(60) }, ['delayed 60', 'waited on']],
    ['retrying', { runAt: at(60) }, ['delayed 60', 'waited on']],
    ['cancelled', { finishedAt: at(7) }, ['waited 7', 'ended 0 cancelled']],
    ['cancelled', { runAt: at(60), finishedAt: at(7) }, ['delayed 7', 'ended 0 cancelled']],
  ] as const)('tells of a run that is %s', (status, given, steps) => {
    expect(told({ ...run, status, ...given }, [])).toEqual(steps);
  });

  it('has no negative stretch when clocks disagree', () => {
    const ended = { ...run, status: 'failed' as const, finishedAt: at(4), startedAt: at(-1) };
    expect(runTimeline(ended, [execution(1, 3, -1, 4)]).every(({ ms }) => (ms ?? 0) >= 0)).toBe(
      true,
    );
  });
});
