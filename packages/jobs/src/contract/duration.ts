/** A length of time with its unit: `250ms`, `30s`, `15m`, `2h`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}`;

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Milliseconds of a {@link Duration}. Throws a `TypeError` that names a malformed one. */
export function durationMs(duration: Duration): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(duration);
  if (!match?.[1] || !match[2]) {
    throw new TypeError(`"${duration}" is not a duration: write 250ms, 30s, 15m or 2h`);
  }
  return Math.round(Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]);
}
