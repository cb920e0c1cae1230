import { type Attributes, type MeterProvider, metrics } from '@opentelemetry/api';

import type { ExecutionOutcome, RunState } from '../../contract/run-state.ts';

/** The name under which everything of Millrace is measured and traced. */
export const SCOPE_NAME = 'millrace';

/** Seconds: from what answers at once to what runs for hours. */
export const SECONDS = [
  0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400,
];

export interface ExecutionMeasure {
  readonly definition: string;
  readonly queue: string;
  readonly outcome: ExecutionOutcome;
  /** The run's terminal state, if this execution ended the run. */
  readonly finishedAs: RunState | null;
  readonly waitedMs: number;
  readonly durationMs: number;
}

/** Counts and times what a process executes. Labels are names that the code declares, never data. */
export interface RunMetrics {
  executionEnded(measure: ExecutionMeasure): void;
}

const made = new WeakMap<MeterProvider, RunMetrics>();

/**
 * The process's instruments of the meter provider that is registered now: register it before. Without
 * one, they do nothing.
 */
export function runMetrics(): RunMetrics {
  const provider = metrics.getMeterProvider();
  const found = made.get(provider) ?? createRunMetrics(provider);
  made.set(provider, found);
  return found;
}

function createRunMetrics(provider: MeterProvider): RunMetrics {
  const meter = provider.getMeter(SCOPE_NAME);
  const advice = { explicitBucketBoundaries: SECONDS };
  const duration = meter.createHistogram('millrace_run_duration_seconds', {
    description: 'How long executions took.',
    unit: 's',
    advice,
  });
  const wait = meter.createHistogram('millrace_run_wait_seconds', {
    description: 'How long runs had been due when a worker claimed them.',
    unit: 's',
    advice,
  });
  // Counted here and read at a collection: the SDK's own counter takes its labels apart at every run.
  const finished = new Map<Attributes, number>();
  meter
    .createObservableCounter('millrace_runs_finished', {
      description: 'Runs that executions of this process brought to a terminal state.',
    })
    .addCallback((result) => {
      for (const [labels, count] of finished) result.observe(count, labels);
    });
  const labels = rememberLabels();

  return {
    executionEnded({ definition, queue, outcome, finishedAs, waitedMs, durationMs }) {
      wait.record(waitedMs / 1_000, labels(definition, queue, ''));
      duration.record(durationMs / 1_000, labels(definition, queue, outcome));
      if (!finishedAs) return;
      const ended = labels(definition, queue, finishedAs);
      finished.set(ended, (finished.get(ended) ?? 0) + 1);
    },
  };
}

/** The same few sets of labels come again with every run: each is made once. */
function rememberLabels(): (definition: string, queue: string, outcome: string) => Attributes {
  const known = new Map<string, Map<string, Map<string, Attributes>>>();
  return (definition, queue, outcome) => {
    const queues = known.get(definition) ?? new Map<string, Map<string, Attributes>>();
    const outcomes = queues.get(queue) ?? new Map<string, Attributes>();
    let labels = outcomes.get(outcome);
    if (!labels) {
      labels = { definition, queue, ...(outcome && { outcome }) };
      known.set(definition, queues.set(queue, outcomes.set(outcome, labels)));
    }
    return labels;
  };
}
