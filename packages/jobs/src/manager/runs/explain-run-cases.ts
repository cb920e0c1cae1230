import type { RunReason } from '../../contract/run-explanation.ts';
import type { RunFacts, RunningFacts, WaitingFacts } from './run-facts.ts';

const NOW = new Date('2030-01-31T02:00:00Z');
export const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1_000);

const WAITING: WaitingFacts = {
  pause: null,
  workers: 2,
  knowing: 2,
  strands: 10,
  running: 3,
  ahead: 0,
  aheadMore: false,
  other: null,
  ticket: { runAt: ago(60), lockedAt: null },
};
export const WORKER = { host: 'crane', pid: 7, seenAt: ago(1), stoppingAt: null };
const RUNNING: RunningFacts = {
  worker: WORKER,
  timeoutMs: 300_000,
};

interface Given {
  readonly run?: Partial<RunFacts['run']>;
  readonly last?: Partial<RunFacts['last']>;
  readonly waiting?: Partial<WaitingFacts>;
  readonly running?: Partial<RunningFacts>;
}

export function facts({ run = {}, last = {}, waiting, running }: Given): RunFacts {
  const state = run.state ?? 'queued';
  return {
    now: NOW,
    run: {
      definition: 'test.echo',
      queue: 'mail',
      state,
      enqueuedAt: ago(90),
      runAt: ago(60),
      startedAt: state === 'queued' ? null : ago(50),
      finishedAt: null,
      attempt: state === 'queued' ? 0 : 1,
      maxAttempts: 3,
      losses: 0,
      exclusive: false,
      leaseUntil: null,
      cancelRequestedAt: null,
      endCode: null,
      argumentsErased: false,
      ...run,
    },
    last: { outcome: null, error: null, cancelledBy: null, cancelReason: null, ...last },
    waiting: state === 'queued' || state === 'retrying' ? { ...WAITING, ...waiting } : null,
    running: state === 'running' ? { ...RUNNING, ...running } : null,
  };
}

export const PAUSE = { by: 'Grace', reason: 'maintenance', at: ago(30), until: null };
export const OTHER = { id: 'the-other-run', startedAt: ago(200) };
export const over = { finishedAt: ago(10) };

/** For the test of `explainRun`: what is told, of a run that …, its facts, and words of the answer. */
export const CASES: [RunReason, string, Given, RegExp][] = [
  ['scheduled', 'is not due', { run: { runAt: ago(-300) } }, /2030-01-31T02:05:00.000Z, in 5 min/],
  [
    'snoozed',
    'was put off by its handler',
    { run: { runAt: ago(-30), startedAt: ago(5) }, last: { outcome: 'snoozed' } },
    /goes on at .* no attempt/,
  ],
  [
    'queue_paused',
    'is in a paused queue',
    { waiting: { pause: PAUSE } },
    /Grace paused mail until it is resumed: “maint/,
  ],
  [
    'queue_paused',
    'is in a queue that is paused until a time',
    { waiting: { pause: { ...PAUSE, until: ago(-60) }, workers: 0, ticket: null } },
    /until 2030-01-31T02:01:00/,
  ],
  [
    'queue_paused',
    'is due again in a paused queue',
    { run: { state: 'retrying' }, waiting: { pause: PAUSE } },
    /paused/,
  ],
  ['no_worker_for_queue', 'nobody runs', { waiting: { workers: 0, knowing: 0 } }, /has mail among/],
  [
    'definition_unknown',
    'nobody knows',
    { waiting: { knowing: 0 } },
    /All 2 workers of mail run a version/,
  ],
  [
    'definition_unknown',
    'the only worker does not know',
    { waiting: { workers: 1, knowing: 0 } },
    /The only worker of mail runs/,
  ],
  [
    'waits_for_other_run',
    'must not overlap',
    { run: { exclusive: true }, waiting: { other: OTHER } },
    /run the-other-run has been running for 3 min/,
  ],
  ['ticket_missing', 'has lost its ticket', { waiting: { ticket: null } }, /Nothing delivers it/],
  [
    'ticket_held',
    'has a ticket that a process holds',
    { waiting: { ticket: { runAt: ago(60), lockedAt: ago(20) } } },
    /fetched at/,
  ],
  [
    'strands_busy',
    'has its turn next',
    { waiting: { running: 10 } },
    /10 of 10 at a time; no run goes/,
  ],
  ['strands_busy', 'is second', { waiting: { running: 10, ahead: 1 } }, /1 run goes before it/],
  [
    'strands_busy',
    'is behind a backlog',
    { waiting: { running: 10, ahead: 1_000, aheadMore: true } },
    /1000\+ runs go before it/,
  ],
  ['starting', 'waits for nothing', {}, /A strand is free/],
  ['starting', 'overlaps nobody although another runs', { waiting: { other: OTHER } }, /free/],
  ['starting', 'is exclusive and alone', { run: { exclusive: true } }, /free/],
  [
    'starting',
    'was given back',
    { waiting: { ticket: { runAt: ago(-4), lockedAt: null } } },
    /offered again at 2030-01-31T02:00:04/,
  ],
  [
    'retry_waiting',
    'waits after a failure',
    {
      run: { state: 'retrying', runAt: ago(-30) },
      last: { outcome: 'failed', error: 'SmtpError' },
    },
    /Attempt 1 of 3 failed with SmtpError; .*02:00:30/,
  ],
  [
    'retry_waiting',
    'waits after a timeout',
    { run: { state: 'retrying', runAt: ago(-30) }, last: { outcome: 'timed_out' } },
    /ran into its timeout/,
  ],
  [
    'retry_waiting',
    'waits after its worker was lost',
    { run: { state: 'retrying', runAt: ago(-30) }, last: { outcome: 'lost' } },
    /lost its worker/,
  ],
  [
    'waits_to_be_alone',
    'finds no empty process',
    { run: { state: 'retrying', runAt: ago(-20), losses: 2 }, last: { outcome: 'snoozed' } },
    /2 workers were lost/,
  ],
  [
    'running',
    'runs',
    { run: { state: 'running' } },
    /On crane, process 7, attempt 1 of 3, with a timeout of 5 min/,
  ],
  [
    'running',
    'runs in a process that stops',
    {
      run: { state: 'running' },
      running: { worker: { ...WORKER, stoppingAt: ago(1) }, timeoutMs: null },
    },
    /attempt 1 of 3\. The process is stopping/,
  ],
  [
    'cancel_requested',
    'is to end',
    {
      run: { state: 'running', cancelRequestedAt: ago(3) },
      last: { cancelledBy: 'Ada', cancelReason: 'wrong customer' },
    },
    /Ada asked for its end: “wrong customer”/,
  ],
  [
    'cancel_requested',
    'is to end by code',
    { run: { state: 'running', cancelRequestedAt: ago(3) } },
    /its end was asked for/,
  ],
  [
    'worker_silent',
    'has a silent worker',
    {
      run: { state: 'running' },
      running: { worker: { ...WORKER, seenAt: ago(9) } },
    },
    /last heard of at/,
  ],
  [
    'worker_silent',
    'has no worker',
    { run: { state: 'running' }, running: { worker: null } },
    /not registered/,
  ],
  [
    'running_inline',
    'is inline',
    { run: { state: 'running', queue: null, leaseUntil: ago(-5) } },
    /its caller waits/,
  ],
  [
    'inline_abandoned',
    'was abandoned',
    { run: { state: 'running', queue: null, leaseUntil: ago(5) } },
    /should have ended/,
  ],
  ['succeeded', 'succeeded', { run: { state: 'succeeded', ...over } }, /On attempt 1, in 40 s/],
  [
    'attempts_exhausted',
    'has no attempts left',
    {
      run: { state: 'failed', endCode: 'attempts_exhausted', attempt: 3, ...over },
      last: { outcome: 'failed', error: 'TypeError' },
    },
    /Attempt 3 of 3 failed with TypeError/,
  ],
  [
    'attempts_exhausted',
    'lost its last worker',
    {
      run: { state: 'failed', endCode: 'attempts_exhausted', attempt: 3, ...over },
      last: { outcome: 'lost' },
    },
    /lost its worker/,
  ],
  [
    'timed_out',
    'timed out',
    { run: { state: 'failed', endCode: 'timed_out', attempt: 3, ...over } },
    /attempt 3 of 3/,
  ],
  [
    'fatal',
    'failed for good',
    {
      run: { state: 'failed', endCode: 'fatal', ...over },
      last: { outcome: 'failed', error: 'FatalError' },
    },
    /ended with FatalError.*no use/,
  ],
  [
    'poison',
    'is quarantined',
    { run: { state: 'failed', endCode: 'poison', losses: 3, ...over } },
    /3 workers were lost/,
  ],
  [
    'cancelled',
    'was cancelled by a person',
    {
      run: { state: 'cancelled', endCode: 'cancelled', cancelRequestedAt: ago(12), ...over },
      last: { cancelledBy: 'Ada' },
    },
    /cancelled\. Ada asked for its end\./,
  ],
  [
    'cancelled',
    'was cancelled by code',
    { run: { state: 'cancelled', endCode: 'cancelled', cancelRequestedAt: ago(12), ...over } },
    /Its end was asked for\./,
  ],
  [
    'cancelled',
    'was cancelled by its handler',
    { run: { state: 'cancelled', endCode: 'cancelled', ...over }, last: { outcome: 'cancelled' } },
    /handler found/,
  ],
];
