import type { Duration } from '../../contract/duration.ts';
import type { TerminalState } from '../../contract/run-state.ts';

/**
 * How long after its end a run keeps its arguments, result, error texts, log lines and progress: they may
 * hold personal data.
 */
export const KEEP_CONTENT: Readonly<Record<TerminalState, Duration>> = {
  succeeded: '1h',
  cancelled: '24h',
  failed: '168h',
};

/** How long after its end the rest of a run is kept. The scheduler's answers are kept for ever. */
export const KEEP_RUNS: Duration = '720h';
