/** `./bin/bench`: measures Millrace against its yardsticks, A B A B, and writes a report. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { migrate } from '@millrace/db/migrate';
import { startPostgres } from '@millrace/local/embedded-postgres';
import pg from 'pg';

import { measureEnqueue } from './enqueue.ts';
import { comparePeers } from './peers.ts';
import { measurePosts, startWeb } from './post.ts';
import { type Comparison, compare, markdown } from './report.ts';
import { measureRunsList, runsListMarkdown } from './runs-list.ts';
import { measureThroughput } from './throughput.ts';

const { values: flags } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    runs: { type: 'string', default: '40000' },
    seconds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    // How many runs the lists are measured over.
    'list-runs': { type: 'string', default: '1000000' },
  },
});
const pairs = Number(flags.pairs);
const runs = Number(flags.runs);
const seconds = Number(flags.seconds);

function wanted(name: string): boolean {
  return name.includes(flags.only);
}

async function throughput(pool: pg.Pool, url: string): Promise<Comparison[]> {
  const settings = [
    { name: 'runs/s, concurrency 24', concurrency: 24, localQueue: 25, prefetch: 176, goal: 0.75 },
    {
      name: 'runs/s, concurrency 100',
      concurrency: 100,
      localQueue: 101,
      prefetch: 200,
      goal: 0.6,
    },
  ];
  const found: Comparison[] = [];
  for (const { name, concurrency, localQueue, prefetch, goal } of settings.filter((each) =>
    wanted(each.name),
  )) {
    found.push(
      await compare(name, goal, pairs, {
        yardstick: () =>
          measureThroughput(pool, {
            url,
            system: 'graphile-worker',
            concurrency,
            prefetch: localQueue,
            runs,
          }),
        millrace: () =>
          measureThroughput(pool, { url, system: 'millrace', concurrency, prefetch, runs }),
      }),
    );
  }
  return found;
}

async function enqueue(url: string): Promise<Comparison[]> {
  const found: Comparison[] = [];
  for (const [inFlight, goal] of [
    [1, 1.2],
    [16, 6],
    [64, 12],
  ] as const) {
    const name = `enqueue/s, ${inFlight} in flight`;
    if (!wanted(name)) continue;
    found.push(
      await compare(name, goal, pairs, {
        yardstick: () => measureEnqueue(url, 'graphile-worker', inFlight, seconds),
        millrace: () => measureEnqueue(url, 'millrace', inFlight, seconds),
      }),
    );
  }
  return found;
}

async function posts(pool: pg.Pool, url: string): Promise<Comparison[]> {
  const name = 'POST /internal/jobs, requests/s';
  if (!wanted(name)) return [];
  await pool.query(
    'create table bare_jobs (id bigint generated always as identity primary key, definition text not null)',
  );
  await pool.query('create index on bare_jobs (definition)');
  const millrace = await startWeb('millrace', url);
  const bare = await startWeb('bare', url);
  try {
    measurePosts('bare', bare.origin, 2);
    measurePosts('millrace', millrace.origin, 2);
    return [
      await compare(name, 0.8, pairs, {
        yardstick: () => Promise.resolve(measurePosts('bare', bare.origin, seconds)),
        millrace: () => Promise.resolve(measurePosts('millrace', millrace.origin, seconds)),
      }),
    ];
  } finally {
    await millrace.stop();
    await bare.stop();
  }
}

/** The figures of the lists as Markdown. */
async function runsList(pool: pg.Pool, url: string): Promise<string> {
  if (!wanted('runs list')) return '';
  const listed = Number(flags['list-runs']);
  return `\n${runsListMarkdown(await measureRunsList(pool, url, { runs: listed, rounds: 25 }), listed)}`;
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  chmodSync(directory, 0o755); // for root the server runs as another user
  const log = { info: () => undefined, warn: console.warn, error: console.error };
  const server = await startPostgres({ dataDir: directory, log: console.error });
  const pool = new pg.Pool({ connectionString: server.url, max: 4 });
  pool.on('error', () => undefined);
  try {
    await migrate({ databaseUrl: server.url, queues: ['default', 'batch', 'mail'], log });
    const comparisons = [
      ...(await throughput(pool, server.url)),
      ...(await enqueue(server.url)),
      ...(await posts(pool, server.url)),
      ...(await comparePeers(pool, server.url, { pairs, runs, wanted })),
    ];
    const lists = await runsList(pool, server.url);
    const report = markdown(comparisons, {
      commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
      machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
      pairs,
    });
    const results = join(import.meta.dirname, '..', 'results');
    mkdirSync(results, { recursive: true });
    const stem = join(results, new Date().toISOString().replace(/[:.]/g, '-'));
    writeFileSync(`${stem}.json`, JSON.stringify(comparisons, null, 2));
    writeFileSync(`${stem}.md`, report + lists);
    console.log(report + lists);
  } finally {
    await pool.end();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
