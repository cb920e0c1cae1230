import type { RunExplanation } from '../../contract/run-explanation.ts';
import { explainEnd } from './explain-end.ts';
import { explainRunning } from './explain-running.ts';
import { explainWaiting } from './explain-waiting.ts';
import type { RunFacts } from './run-facts.ts';

/** Why the run is where it is, in plain words, and what would change it. */
export function explainRun(facts: RunFacts): RunExplanation {
  switch (facts.run.state) {
    case 'queued':
    case 'retrying':
      return explainWaiting(facts);
    case 'running':
      return explainRunning(facts);
    case 'succeeded':
    case 'failed':
    case 'cancelled':
      return explainEnd(facts);
  }
}
