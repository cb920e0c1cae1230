/**
 * What a scheduler's POST may count on, whatever becomes of the web server, the database and the
 * connections in between: the production server and the shipped job `reindex_runs`, which coalesces.
 */
import { cancelRun } from '@millrace/jobs/engine/cancel-run';
import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import { until } from '@millrace/jobs/testing/until';
import { describe, expect, it } from 'vitest';

import {
  allEnd,
  type Answer,
  brief,
  comesTo,
  JOB,
  jobsByKey,
  newKeys,
  onStage,
  patient,
  postAll,
  postTogether,
  repeat,
  runsByState,
  type Stage,
  startWeb,
  workerBehindProxy,
} from './web-process.ts';

/** CHAOS_SCALE=20 is the long form: that many times the kills. */
const SCALE = Number(process.env['CHAOS_SCALE'] ?? 1);
const TIMEOUT_MS = 60_000 * SCALE + 60_000;
const LANES = 8;
const ROUNDS = 2 * SCALE;

/** Makes a run of the job last: until then its handler waits for a row. */
const holdHandlers = (at: Stage) => at.leaveOpen('select from millrace.search_index for update');

const killedWhen = {
  /** The answers of what it commits are withheld: at least one key is known, and nobody told. */
  async 'it has committed and not answered'(at: Stage, keys: readonly string[]) {
    expect(at.proxy.freeze(undefined, 'answers')).toBeGreaterThan(0);
    const posted = postAll(at.web, keys);
    await until('a key is known', async () => {
      const jobs = await jobsByKey(at);
      return keys.some((key) => jobs.has(key));
    });
    await at.web.kill();
    const answers = await posted;
    expect(answers).toEqual(keys.map(() => null));
    return answers;
  },
  /** Few at a time, so that the kill meets some before, some within and some after their commit. */
  async 'it has answered some'(at: Stage, keys: readonly string[]) {
    const answers = keys.map((): Answer | null => null);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < keys.length) {
        const n = next++;
        answers[n] = await at.web.post(JOB, keys[n]).catch(() => null);
      }
    };
    const lanes = Promise.all(Array.from({ length: LANES }, lane));
    await until('a third has begun', () => next > keys.length / 3);
    await at.web.kill();
    return lanes.then(() => answers);
  },
};

describe('a web server that is killed', () => {
  it('loses and doubles no POST that is repeated with its key', { timeout: TIMEOUT_MS }, () =>
    onStage(async (at) => {
      await at.startWorker();
      const told = new Map<string, string>();
      const keys: string[] = [];
      let untold = 0;
      for (let round = 0; round < ROUNDS; round++) {
        for (const kill of Object.values(killedWhen)) {
          const fresh = newKeys(60);
          keys.push(...fresh);
          const answers = await kill(at, fresh);
          const committed = await jobsByKey(at);
          for (const [n, key] of fresh.entries()) {
            const jobId = answers[n]?.body.jobId;
            if (jobId !== undefined) told.set(key, jobId);
            else if (committed.has(key)) untold++;
          }
          await at.web.restart();
          await repeat(at, fresh);
        }
      }
      await expectOneJobPerKey(at, keys, told);
      expect(told.size).toBeGreaterThan(0);
      expect(untold).toBeGreaterThanOrEqual(ROUNDS);
    }),
  );
});

async function expectOneJobPerKey(
  at: Stage,
  keys: readonly string[],
  told: ReadonlyMap<string, string>,
): Promise<void> {
  await allEnd(at);
  const jobs = await repeat(at, keys.toReversed());
  expect([...jobs.keys()].sort()).toEqual([...keys].sort());
  for (const [key, jobId] of told) expect(jobs.get(key)).toBe(jobId);

  const ids = [...new Set(jobs.values())];
  expect(await runsByState(at)).toEqual({ succeeded: ids.length });
  const { rows } = await at.pool.query(
    `select e.run_id from millrace.executions e join millrace.runs r on r.id = e.run_id
      where r.trigger = 'scheduler' and e.outcome = 'succeeded'`,
  );
  expect(rows).toHaveLength(ids.length);
  const answers = await Promise.all(ids.map((id) => at.web.get(id)));
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 200, body: { done: true, status: 'succeeded' } });
  }
}

describe('100 POSTs at once, to two servers', () => {
  it('are one run, and one more waits beside one that runs', { timeout: TIMEOUT_MS }, () =>
    onStage(async (at) => {
      const other = await startWeb(at.databaseUrl);
      at.atEnd(() => other.end());
      const together = (keyOf: (n: number) => string | undefined) =>
        postTogether([at.web, other], keyOf);
      const [key, ...keys] = newKeys(101);

      // One key: one job, new to one caller only.
      const first = await together(() => key);
      const [one] = first.ids;
      expect(first).toEqual({ ids: [expect.any(String)], fresh: 1 });
      // Without a key: the live run that a scheduler's trigger created, be it waiting or running.
      expect(await together(() => undefined)).toEqual({ ids: [one], fresh: 0 });
      const held = await holdHandlers(at);
      await at.startWorker();
      await until('it runs', async () => (await runsByState(at))['running'] === 1);
      expect(await together(() => undefined)).toEqual({ ids: [one], fresh: 0 });
      expect(await runsByState(at)).toEqual({ running: 1 });

      // New keys while one runs: one more, which waits; and still the first for its own key.
      const second = await together((n) => keys[n]);
      const [two] = second.ids;
      expect(second).toEqual({ ids: [expect.any(String)], fresh: 1 });
      expect(await together(() => key)).toEqual({ ids: [one], fresh: 0 });
      expect(await together((n) => keys[n])).toEqual({ ids: [two], fresh: 0 });
      expect(await runsByState(at)).toEqual({ running: 1, queued: 1 });
      await held.end();
      await allEnd(at);

      // Without a key and without a live run: one new run.
      const heldAgain = await holdHandlers(at);
      const third = await together(() => undefined);
      expect(third).toEqual({ ids: [expect.any(String)], fresh: 1 });
      expect(new Set([one, two, ...third.ids]).size).toBe(3);
      await heldAgain.end();
      await allEnd(at);
      expect(await runsByState(at)).toEqual({ succeeded: 3 });
    }),
  );
});

describe('a POST that comes again', () => {
  it('is the job that it was, in whatever order and however late', { timeout: TIMEOUT_MS }, () =>
    onStage(async (at) => {
      await at.startWorker();
      const keys = newKeys(4);
      const ids: string[] = [];
      for (const key of keys) {
        const { body } = await at.web.post(JOB, key);
        ids.push(String(body.jobId));
        expect((await at.web.get(`${body.jobId}?wait=20`)).body.done).toBe(true);
      }
      expect(new Set(ids).size).toBe(keys.length);

      // Also while a later one runs, and after the run itself has been removed.
      const held = await holdHandlers(at);
      const later = await at.web.post(JOB, newKeys(1)[0]);
      await until('the later one runs', async () => (await runsByState(at))['running'] === 1);
      await at.pool.query('delete from millrace.executions where run_id = $1', [ids[0]]);
      await at.pool.query('delete from millrace.runs where id = $1', [ids[0]]);
      const orders = [keys.toReversed(), keys, [...keys, ...keys, ...keys].sort()];
      for (const order of orders) {
        const answers = await postAll(at.web, order);
        for (const [n, answer] of answers.entries()) {
          const jobId = ids[keys.indexOf(order[n] ?? '')];
          const body = { jobId, type: JOB, status: 'succeeded', done: true };
          expect(answer).toMatchObject({ status: 202, replayed: true, body });
        }
      }
      expect(await runsByState(at)).toEqual({ succeeded: keys.length - 1, running: 1 });
      await held.end();
      await at.web.get(`${later.body.jobId}?wait=20`);
      for (const id of ids) expect((await at.web.get(id)).body.done).toBe(true);
    }),
  );
});

const ANSWER_WITHIN_MS = 5_000;
/** For a machine that has other things to do. */
const SLACK_MS = 1_000;
const UNKNOWN_ID = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';

/** With what GET answers meanwhile. */
const OPEN_TRANSACTIONS: readonly [string, string, number][] = [
  ['the table of runs', 'lock table millrace.runs in access exclusive mode', 503],
  [
    'the decision of a trigger',
    `select * from millrace.trigger_runs(jsonb_build_array(jsonb_build_object('definition', '${JOB}',
       'args', '{}'::jsonb, 'queue', 'batch', 'maxAttempts', 5, 'idempotencyKey', 'never-committed')))`,
    404,
  ],
];

const UNAVAILABLE = {
  status: 503,
  contentType: 'application/problem+json',
  retryAfter: '5',
  body: { code: 'unavailable', status: 503 },
};

describe('a transaction that is left open', () => {
  for (const [what, statement, whatGetSays] of OPEN_TRANSACTIONS) {
    it(`and holds ${what}: 503 in time, nothing half-done`, { timeout: TIMEOUT_MS }, () =>
      onStage(async (at) => {
        const keys = newKeys(100);
        const open = await at.leaveOpen(statement);
        // Three times the pool's connections: where they have to wait, they leave none for a POST.
        const reading = Promise.all(Array.from({ length: 30 }, () => at.web.get(UNKNOWN_ID)));
        const answers = await postAll(at.web, keys);
        const read = await reading;
        expect(answers).toMatchObject(keys.map(() => UNAVAILABLE));
        expect(new Set(read.map(({ status }) => status))).toEqual(new Set([whatGetSays]));
        const slowest = Math.max(...[...read, ...answers].map((answer) => answer?.tookMs ?? NaN));
        expect(slowest).toBeLessThan(ANSWER_WITHIN_MS + SLACK_MS);

        await open.end();
        const recovered = async () => (await at.web.post(JOB, keys[0])).status === 202;
        await until('it recovers', recovered, 5_000);
        // Those that were answered 503 as well: what the server wrote of them late is the whole job.
        const jobs = await repeat(at, keys);
        expect([...jobs.keys()].sort()).toEqual([...keys].sort());
        expect(await runsByState(at)).toEqual({ queued: 1 });
      }),
    );
  }
});

/** Those of the control channel are probed every 5 s, and again before they are given up. */
const REPLACED_WITHIN_MS = 20_000;
/** graphile-worker's own listener is not replaced: it polls every second. */
const PICKED_UP_WITHIN_MS = 2_500;
const CONTROL = ['millrace web control', 'millrace worker control'];

describe('connections that listen', () => {
  it('are replaced when they are dead without a word', { timeout: TIMEOUT_MS }, () =>
    onStage(async (at) => {
      await workerBehindProxy(at);
      const { enqueue } = createJobClient({ pool: at.pool });
      const startPatient = async (): Promise<string> => {
        const { runId } = await enqueue(patient, {});
        await comesTo(at, runId, 'running', PICKED_UP_WITHIN_MS);
        return runId;
      };
      const { listeners } = at.proxy;

      const runId = await startPatient();
      const { body } = await at.web.post(JOB);
      const waiting = at.web.get(`${body.jobId}?wait=25`);
      waiting.catch(() => undefined);
      await until('all listen', () => listeners().length === 3);
      expect(listeners()).toEqual([...CONTROL, 'millrace worker default']);
      expect(at.proxy.freeze((connection) => connection.listens())).toBe(3);

      expect(await cancelRun(at.pool, runId)).toBe('requested');
      expect(await cancelRun(at.pool, String(body.jobId))).toBe('cancelled');
      for (let n = 0; n < 3; n++) {
        const { runId: next } = await enqueue(brief, {});
        await comesTo(at, next, 'succeeded', PICKED_UP_WITHIN_MS);
      }
      const replaced = () => CONTROL.every((name) => listeners().includes(name));
      await until('those of the control channel are replaced', replaced, REPLACED_WITHIN_MS);
      // Whoever waited there is woken: what was announced meanwhile, nobody heard.
      expect((await waiting).body).toMatchObject({ done: true, status: 'cancelled' });
      expect((await waiting).tookMs).toBeLessThan(REPLACED_WITHIN_MS + PICKED_UP_WITHIN_MS);
      await comesTo(at, runId, 'cancelled', 30_000 - REPLACED_WITHIN_MS);

      const hearsAtOnce = async (): Promise<void> => {
        await until('they listen', replaced);
        const again = await startPatient();
        expect(await cancelRun(at.pool, again)).toBe('requested');
        await comesTo(at, again, 'cancelled', 2_000);
      };
      await hearsAtOnce();
      expect(at.proxy.cut((connection) => connection.listens())).toBeGreaterThan(1);
      await hearsAtOnce();
    }),
  );
});
