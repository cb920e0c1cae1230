import { describe, expect, it } from 'vitest';

import { countStep, readCounts, summaryLine } from './test-counts.ts';

describe('readCounts', () => {
  it('reads the report of vitest', () => {
    const report = { numTotalTests: 9, numPassedTests: 5, numFailedTests: 1, success: false };
    expect(readCounts(JSON.stringify(report))).toEqual({ passed: 5, failed: 1 });
  });

  it('reads the report of Playwright', () => {
    const report = { stats: { expected: 3, flaky: 1, unexpected: 2, skipped: 4 } };
    expect(readCounts(JSON.stringify(report))).toEqual({ passed: 4, failed: 2 });
  });

  it.each(['', '{', '{}', 'null'])('knows that %j is none', (report) => {
    expect(readCounts(report)).toBeNull();
  });
});

describe('countStep', () => {
  it('takes what the tests report', () => {
    expect(countStep(true, { passed: 3, failed: 0 })).toEqual({ passed: 3, failed: 0 });
    expect(countStep(false, { passed: 3, failed: 2 })).toEqual({ passed: 3, failed: 2 });
  });

  it('counts a failure that no test reports', () => {
    expect(countStep(false, null)).toEqual({ passed: 0, failed: 1 });
    expect(countStep(false, { passed: 3, failed: 0 })).toEqual({ passed: 3, failed: 1 });
  });

  it('counts no test for a check that passes', () => {
    expect(countStep(true, null)).toEqual({ passed: 0, failed: 0 });
  });
});

describe('summaryLine', () => {
  it('adds up', () => {
    expect(
      summaryLine([
        { passed: 1, failed: 0 },
        { passed: 2, failed: 3 },
      ]),
    ).toBe('3 passed, 3 failed');
    expect(summaryLine([])).toBe('0 passed, 0 failed');
  });
});
