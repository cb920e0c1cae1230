import type { RunExplanation } from '../../contract/run-explanation.ts';
import { explanation, lengthInWords } from './explanation.ts';
import type { RunFacts, RunningFacts } from './run-facts.ts';

/** Workers renew their lease every 2 s. */
const SILENT_MS = 5_000;
const LEASE_MS = 15_000;

/** A run in state running. */
export function explainRunning(facts: RunFacts): RunExplanation {
  const { run, running } = facts;
  if (run.queue === null) return inline(facts);
  const worker = running?.worker;
  if (!running || !worker || facts.now.getTime() - worker.seenAt.getTime() > SILENT_MS) {
    return silent(facts, worker ?? null);
  }
  const limit = endOfTimeout(facts, running);
  const where = `${worker.host}, process ${worker.pid}`;
  if (run.cancelRequestedAt) {
    return explanation('cancel_requested', {
      text: `It runs on ${where}; ${whoAsked(facts)}.`,
      would: [
        'It ends as soon as its handler heeds its signal, and without it 2 s after that.',
        'If it succeeds all the same, it is succeeded.',
      ],
      since: run.cancelRequestedAt,
      until: limit,
    });
  }
  const attempt = `attempt ${run.attempt} of ${run.maxAttempts}`;
  const stopping = worker.stoppingAt
    ? ' The process is stopping: what is not done in time goes to another worker.'
    : '';
  return explanation('running', {
    text: `On ${where}, ${attempt}${timeoutInWords(running)}.${stopping}`,
    would: ['It ends by itself.', 'Cancelling it fires its handler’s signal within 2 s.'],
    since: run.startedAt,
    until: limit,
  });
}

function silent({ run }: RunFacts, worker: RunningFacts['worker']): RunExplanation {
  return explanation('worker_silent', {
    text: worker
      ? `${worker.host}, process ${worker.pid}, was last heard of at ${worker.seenAt.toISOString()}.`
      : 'It is not registered any more.',
    would: [
      'Any other worker takes the run over within 30 s; the attempt counts as lost.',
      'Without another worker it stays as it is: start one.',
    ],
    since: worker?.seenAt ?? run.startedAt,
    until: worker ? new Date(worker.seenAt.getTime() + LEASE_MS) : null,
  });
}

function inline({ run, now }: RunFacts): RunExplanation {
  if (run.leaseUntil && run.leaseUntil < now) {
    return explanation('inline_abandoned', {
      text: `It should have ended by ${run.leaseUntil.toISOString()}.`,
      would: [
        'The next call of its scheduler, or the sweep of any worker within 30 s, closes it as lost.',
      ],
      since: run.leaseUntil,
    });
  }
  return explanation('running_inline', {
    would: ['It ends by itself.'],
    since: run.startedAt,
    until: run.leaseUntil,
  });
}

function endOfTimeout({ run }: RunFacts, { timeoutMs }: RunningFacts): Date | null {
  if (timeoutMs === null || run.startedAt === null) return null;
  return new Date(run.startedAt.getTime() + timeoutMs);
}

function timeoutInWords({ timeoutMs }: RunningFacts): string {
  return timeoutMs === null ? '' : `, with a timeout of ${lengthInWords(timeoutMs)}`;
}

export function whoAsked({ last }: RunFacts): string {
  if (last.cancelledBy === null) return 'its end was asked for';
  const why = last.cancelReason === null ? '' : `: “${last.cancelReason}”`;
  return `${last.cancelledBy} asked for its end${why}`;
}
