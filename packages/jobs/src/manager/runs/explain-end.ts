import type { RunExplanation } from '../../contract/run-explanation.ts';
import type { EndCode } from '../../contract/run-state.ts';
import { whoAsked } from './explain-running.ts';
import { explanation, lengthInWords } from './explanation.ts';
import type { RunFacts } from './run-facts.ts';

/** A run that is over. */
export function explainEnd(facts: RunFacts): RunExplanation {
  const { run } = facts;
  const since = run.finishedAt;
  if (run.state === 'succeeded') {
    const took = since && run.startedAt ? since.getTime() - run.startedAt.getTime() : null;
    return explanation('succeeded', {
      text: `On attempt ${run.attempt}${took === null ? '' : `, in ${lengthInWords(took)}`}.`,
      since,
    });
  }
  const code = run.endCode ?? 'attempts_exhausted';
  return explanation(code, { text: TEXTS[code](facts), would: wouldHelp(facts, code), since });
}

const TEXTS: Record<EndCode, (facts: RunFacts) => string> = {
  attempts_exhausted: ({ run, last }) => {
    const with_ = last.error === null ? '' : ` with ${last.error}`;
    const how = last.outcome === 'lost' ? 'lost its worker' : `failed${with_}`;
    return `Attempt ${run.attempt} of ${run.maxAttempts} ${how}.`;
  },
  timed_out: ({ run }) => `That was attempt ${run.attempt} of ${run.maxAttempts}.`,
  fatal: ({ run, last }) => {
    const with_ = last.error === null ? '' : ` with ${last.error}`;
    return `Attempt ${run.attempt} ended${with_}, and the job says that trying again is of no use.`;
  },
  poison: ({ run }) => `${run.losses} workers were lost over it, the last one while it ran alone.`,
  cancelled: (facts) => {
    const { run, last } = facts;
    if (last.outcome === 'cancelled' && run.cancelRequestedAt === null) {
      return 'Its handler found that there is nothing left to do.';
    }
    const asked = whoAsked(facts);
    return `${asked.charAt(0).toUpperCase()}${asked.slice(1)}.`;
  },
};

function wouldHelp({ run }: RunFacts, code: EndCode): string[] {
  if (run.queue === null) return ['The next call of its scheduler is a run of its own.'];
  if (run.argumentsErased) return ['It cannot be retried: its arguments have been erased.'];
  const retry = 'Retrying it opens the same run with one more attempt';
  switch (code) {
    case 'attempts_exhausted':
    case 'timed_out':
    case 'cancelled':
      return [`${retry}.`];
    case 'fatal':
      return [`${retry}; that helps only when the cause has been mended.`];
    case 'poison':
      return [`${retry}, alone in its process; it may take that one down as well.`];
  }
}
