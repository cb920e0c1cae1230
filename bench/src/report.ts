/** A figure of Millrace beside its yardstick, from interleaved rounds of one run. */
export interface Comparison {
  readonly name: string;
  /** The ratio that must be reached; null where a peer is only shown. */
  readonly goal: number | null;
  readonly yardstick: readonly number[];
  readonly millrace: readonly number[];
}

/**
 * Measures both in turn, `pairs` times, after a pair that is not counted: a server that has just been made
 * has yet to make the files of its write-ahead log.
 */
export async function compare(
  name: string,
  goal: number | null,
  pairs: number,
  measure: { yardstick: () => Promise<number>; millrace: () => Promise<number> },
): Promise<Comparison> {
  const yardstick: number[] = [];
  const millrace: number[] = [];
  await measure.yardstick();
  await measure.millrace();
  for (let pair = 0; pair < pairs; pair++) {
    yardstick.push(await measure.yardstick());
    millrace.push(await measure.millrace());
    console.error(
      `${name}: ${Math.round(millrace.at(-1) ?? 0)} against ${Math.round(yardstick.at(-1) ?? 0)}`,
    );
  }
  return { name, goal, yardstick, millrace };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The ratios of the pairs: median, lowest and highest. */
export function ratio({ millrace, yardstick }: Comparison): [number, number, number] {
  const ratios = millrace.map((value, pair) => value / (yardstick[pair] ?? Number.NaN));
  return [median(ratios), Math.min(...ratios), Math.max(...ratios)];
}

/** The report as a Markdown table. */
export function markdown(
  comparisons: readonly Comparison[],
  { commit, machine, pairs }: { commit: string; machine: string; pairs: number },
): string {
  const rows = comparisons.map((comparison) => {
    const [mid, low, high] = ratio(comparison);
    const cells = [
      comparison.name,
      String(Math.round(median(comparison.yardstick))),
      String(Math.round(median(comparison.millrace))),
      `${mid.toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`,
      comparison.goal === null ? '' : `≥ ${comparison.goal}`,
      comparison.goal === null ? '' : mid >= comparison.goal ? 'reached' : 'missed',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `Commit ${commit}, ${machine}, ${pairs} interleaved pairs, medians.`,
    '',
    '| what | yardstick | Millrace | ratio (range) | must | |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
