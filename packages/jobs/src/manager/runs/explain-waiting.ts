import type { RunExplanation } from '../../contract/run-explanation.ts';
import { explanation, lengthInWords } from './explanation.ts';
import type { RunFacts, WaitingFacts } from './run-facts.ts';

/** After how many lost workers a run executes alone in its process. */
const LOSSES_UNTIL_ALONE = 2;
/** A ticket that is held for longer is taken back by the sweep. */
const LEASE_MS = 15_000;
const CANCEL = 'Cancelling it ends it at once.';

/** A run in state queued or retrying: its time first, then every refusal of a claim in turn. */
export function explainWaiting(facts: RunFacts): RunExplanation {
  const { run, now, waiting } = facts;
  const notDue = run.runAt > now;
  if (facts.last.outcome === 'snoozed' && (notDue || run.losses >= LOSSES_UNTIL_ALONE)) {
    return snoozed(facts);
  }
  if (notDue) return run.state === 'retrying' ? retryWaiting(facts) : scheduled(facts);
  return waiting ? refused(facts, waiting) : explanation('starting', { since: run.runAt });
}

function scheduled({ run, now }: RunFacts): RunExplanation {
  return explanation('scheduled', {
    text: `Its time is ${run.runAt.toISOString()}, in ${lengthInWords(run.runAt.getTime() - now.getTime())}.`,
    would: ['It becomes due by itself.', CANCEL],
    since: run.enqueuedAt,
    until: run.runAt,
  });
}

function snoozed({ run, now }: RunFacts): RunExplanation {
  if (run.losses >= LOSSES_UNTIL_ALONE) {
    return explanation('waits_to_be_alone', {
      text:
        `${run.losses} workers were lost while executing it, so it executes alone; a process that is ` +
        'never free of other work puts it off again and again.',
      would: ['It starts when a process of its queue has nothing else to do.', CANCEL],
      since: run.startedAt,
      until: run.runAt > now ? run.runAt : null,
    });
  }
  return explanation('snoozed', {
    text: `It goes on at ${run.runAt.toISOString()}; that cost no attempt.`,
    would: ['It becomes due by itself.', CANCEL],
    since: run.startedAt,
    until: run.runAt,
  });
}

function retryWaiting({ run, last }: RunFacts): RunExplanation {
  const how =
    last.outcome === 'timed_out'
      ? 'ran into its timeout'
      : last.outcome === 'lost'
        ? 'lost its worker'
        : `failed${last.error === null ? '' : ` with ${last.error}`}`;
  return explanation('retry_waiting', {
    text:
      `Attempt ${run.attempt} of ${run.maxAttempts} ${how}; the next one is due at ` +
      `${run.runAt.toISOString()}.`,
    would: ['It becomes due by itself.', CANCEL],
    since: run.startedAt,
    until: run.runAt,
  });
}

/** In the order in which one hides the other. */
function refused({ run, now }: RunFacts, waiting: WaitingFacts): RunExplanation {
  const since = run.runAt;
  const { pause, workers, knowing, other, ticket } = waiting;
  const queue = run.queue ?? 'inline';
  if (pause) {
    const end = pause.until ? `until ${pause.until.toISOString()}` : 'until it is resumed';
    return explanation('queue_paused', {
      text: `${pause.by} paused ${queue} ${end}: “${pause.reason}”.`,
      would: [`Resume the queue ${queue}.`, CANCEL],
      since: pause.at > since ? pause.at : since,
      until: pause.until,
    });
  }
  if (workers === 0) {
    return explanation('no_worker_for_queue', {
      text: `No process that takes work has ${queue} among its queues.`,
      would: [`Start a worker with the queue ${queue}.`, CANCEL],
      since,
    });
  }
  if (knowing === 0) {
    return explanation('definition_unknown', {
      text:
        `${count(workers, 'worker')} of ${queue} ${workers === 1 ? 'runs' : 'run'} a version of the ` +
        `code that has no ${run.definition}.`,
      would: [`Deploy a worker that knows ${run.definition}; it is tried again every 5 s.`, CANCEL],
      since,
    });
  }
  if (run.exclusive && other) {
    return explanation('waits_for_other_run', {
      text:
        `Only one of ${run.definition} runs at a time, and run ${other.id} has been running for ` +
        `${lengthInWords(now.getTime() - other.startedAt.getTime())}.`,
      would: ['It starts when that run ends.', 'Cancel the other run.', CANCEL],
      since,
      waitsFor: other.id,
    });
  }
  if (!ticket) {
    return explanation('ticket_missing', {
      text: 'Nothing delivers it to a worker.',
      would: ['The sweep of any worker gives it a new one within 30 s.'],
      since,
    });
  }
  if (waiting.running >= waiting.strands) return busy(waiting, queue, since);
  if (ticket.lockedAt && now.getTime() - ticket.lockedAt.getTime() > LEASE_MS) {
    return explanation('ticket_held', {
      text: `It was fetched at ${ticket.lockedAt.toISOString()}.`,
      would: ['The sweep of any worker gives it a new one within 30 s.'],
      since: ticket.lockedAt,
    });
  }
  return starting(waiting, since, now);
}

function busy(waiting: WaitingFacts, queue: string, since: Date): RunExplanation {
  return explanation('strands_busy', {
    text: `${queue} runs ${waiting.running} of ${waiting.strands} at a time; ${aheadInWords(waiting)}.`,
    would: [
      'It starts when its turn has come and a run ends.',
      `Start another worker for ${queue}.`,
      CANCEL,
    ],
    since,
  });
}

function starting(waiting: WaitingFacts, since: Date, now: Date): RunExplanation {
  const later = waiting.ticket && waiting.ticket.runAt > now ? waiting.ticket.runAt : null;
  return explanation('starting', {
    text: later
      ? `A worker could not take it and gave it back; it is offered again at ${later.toISOString()}.`
      : `A strand is free; ${aheadInWords(waiting)}.`,
    would: ['It starts by itself, usually within milliseconds.'],
    since,
    until: later,
  });
}

function aheadInWords({ ahead, aheadMore }: WaitingFacts): string {
  if (ahead === 0 && !aheadMore) return 'no run goes before it';
  return `${ahead}${aheadMore ? '+' : ''} ${ahead === 1 && !aheadMore ? 'run goes' : 'runs go'} before it`;
}

function count(many: number, what: string): string {
  return many === 1 ? `The only ${what}` : `All ${many} ${what}s`;
}
