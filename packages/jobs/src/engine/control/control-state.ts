import type pg from 'pg';
import type { Logger } from 'pino';

import type { AnyDefinition } from '../../contract/definition.ts';
import { controlState, type ControlStateRow } from '../sql/control.ts';

/** What operators have set, as this process last read it. */
export interface ControlState {
  /** Of an attempt that starts now. */
  timeoutMs(definition: AnyDefinition): number;
  /** Definitions with an override and its version, as two arrays of the same order. */
  versions(): readonly [definitions: readonly string[], versions: readonly number[]];
  /** Whether this process is to fetch nothing of the queue. */
  isHeld(queue: string): boolean;
  /** Reads it again; what is asked for meanwhile is read once more. Never rejects. */
  refresh(): Promise<void>;
  stop(): void;
}

interface ControlStateOptions {
  readonly pool: pg.Pool;
  readonly workerId: string;
  readonly log: Logger;
  /** Called after every reading. */
  readonly onRead: () => void;
}

const NOTHING: ControlStateRow = { overrides: [], paused: [], heldForMs: null, draining: false };
const MAX_TIMER_MS = 2_147_483_647;

export function createControlState(options: ControlStateOptions): ControlState {
  let state = NOTHING;
  let timeouts = new Map<string, number>();
  let versions: readonly [readonly string[], readonly number[]] = [[], []];
  let reading: Promise<void> | undefined;
  /** Whether somebody has asked since the reading under way began. */
  let asked = false;
  let pauseEnds: NodeJS.Timeout | undefined;
  let stopped = false;
  const isStopped = (): boolean => stopped;

  async function read(): Promise<void> {
    const { rows } = await options.pool.query<ControlStateRow>({
      ...controlState,
      values: [options.workerId],
    });
    state = rows[0] ?? NOTHING;
    versions = [
      state.overrides.map(({ definition }) => definition),
      state.overrides.map(({ version }) => version),
    ];
    timeouts = new Map(
      state.overrides.flatMap(({ definition, timeoutMs }) =>
        timeoutMs === null ? [] : [[definition, timeoutMs] as const],
      ),
    );
    clearTimeout(pauseEnds);
    if (state.heldForMs !== null) {
      const inMs = Math.min(MAX_TIMER_MS, Math.max(1, state.heldForMs));
      pauseEnds = setTimeout(() => void refresh(), inMs);
      pauseEnds.unref();
    }
    options.onRead();
  }

  async function readAll(): Promise<void> {
    while (asked && !stopped) {
      asked = false;
      await read().catch((error: unknown) => {
        if (!isStopped()) {
          options.log.warn({ err: error }, 'what operators have set could not be read');
        }
      });
    }
    reading = undefined;
  }

  function refresh(): Promise<void> {
    asked = true;
    return (reading ??= readAll());
  }

  return {
    timeoutMs: (definition) => timeouts.get(definition.name) ?? definition.timeoutMs,
    versions: () => versions,
    isHeld: (queue) => state.draining || state.paused.includes(queue),
    refresh,
    stop() {
      stopped = true;
      clearTimeout(pauseEnds);
    },
  };
}
