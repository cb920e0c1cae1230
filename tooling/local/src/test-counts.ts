import { z } from 'zod';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

const vitest = z.object({ numPassedTests: z.number(), numFailedTests: z.number() });
const playwright = z.object({
  stats: z.object({ expected: z.number(), flaky: z.number(), unexpected: z.number() }),
});

/** The counts in a JSON report of vitest or Playwright; null when it is neither. */
export function readCounts(report: string): Counts | null {
  let json: unknown;
  try {
    json = JSON.parse(report);
  } catch {
    return null;
  }
  const ofVitest = vitest.safeParse(json);
  if (ofVitest.success) {
    return { passed: ofVitest.data.numPassedTests, failed: ofVitest.data.numFailedTests };
  }
  const ofPlaywright = playwright.safeParse(json);
  if (!ofPlaywright.success) return null;
  const { expected, flaky, unexpected } = ofPlaywright.data.stats;
  return { passed: expected + flaky, failed: unexpected };
}

/** A step that failed without a failed test (a check, a file that does not load) counts as one. */
export function countStep(ok: boolean, reported: Counts | null): Counts {
  const counts = reported ?? { passed: 0, failed: 0 };
  return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

/** The last line of bin/test. */
export function summaryLine(counts: readonly Counts[]): string {
  const sum = (of: keyof Counts): number => counts.reduce((total, each) => total + each[of], 0);
  return `${sum('passed')} passed, ${sum('failed')} failed`;
}
