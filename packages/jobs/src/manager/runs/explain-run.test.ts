import { describe, expect, it } from 'vitest';

import { RUN_REASONS } from '../../contract/run-explanation.ts';
import { explainRun } from './explain-run.ts';
import { ago, CASES, facts, OTHER, over, PAUSE, WORKER } from './explain-run-cases.ts';

describe('explainRun', () => {
  it.each(CASES)('says %s of a run that %s', (why, _, given, text) => {
    const found = explainRun(facts(given));
    expect(found.why).toBe(why);
    expect(found.text).toMatch(text);
    expect(found.text.startsWith(RUN_REASONS[why])).toBe(true);
    expect(found.would.length > 0).toBe(why !== 'succeeded');
  });

  it('is tested for every reason', () => {
    expect([...new Set(CASES.map(([why]) => why))].sort()).toEqual(Object.keys(RUN_REASONS).sort());
  });

  it('names the run that is waited for, and since and until when', () => {
    const waits = explainRun(facts({ run: { exclusive: true }, waiting: { other: OTHER } }));
    expect([waits.waitsFor, waits.since, waits.until]).toEqual(['the-other-run', ago(60), null]);
    const paused = explainRun(facts({ waiting: { pause: { ...PAUSE, until: ago(-60) } } }));
    expect([paused.since, paused.until]).toEqual([ago(30), ago(-60)]);
    const running = explainRun(facts({ run: { state: 'running' } }));
    expect([running.since, running.until]).toEqual([ago(50), ago(-250)]);
    const silent = explainRun(
      facts({
        run: { state: 'running' },
        running: { worker: { ...WORKER, seenAt: ago(9) } },
      }),
    );
    expect([silent.since, silent.until]).toEqual([ago(9), ago(-6)]);
  });

  it.each([
    ['attempts_exhausted', {}, /one more attempt\.$/],
    ['timed_out', {}, /one more attempt\.$/],
    ['fatal', {}, /only when the cause has been mended/],
    ['poison', {}, /alone in its process/],
    ['attempts_exhausted', { argumentsErased: true }, /cannot be retried: its arguments/],
    ['attempts_exhausted', { queue: null }, /next call of its scheduler/],
  ] as const)('tells what a retry does after %s with %j', (endCode, more, would) => {
    const { would: found } = explainRun(
      facts({ run: { state: 'failed', endCode, ...over, ...more } }),
    );
    expect(found.join(' ')).toMatch(would);
  });
});
