import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '..', '..');
const TOKEN = 'benchmark-benchmark-benchmark-benchmark';

export type PostSystem = 'millrace' | 'bare';

/** A production build of a Next.js app, serving on a free port. */
export interface WebApp {
  readonly origin: string;
  stop(): Promise<void>;
}

const FOLDERS = {
  millrace: join(ROOT, 'apps', 'web'),
  bare: join(ROOT, 'bench', 'bare-web'),
} as const satisfies Record<PostSystem, string>;

/** Builds and starts the app. */
export async function startWeb(system: PostSystem, databaseUrl: string): Promise<WebApp> {
  const next = join(ROOT, 'apps', 'web', 'node_modules', '.bin', 'next');
  const cwd = FOLDERS[system];
  execFileSync(next, ['build'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  const port = await freePort();
  const child = spawn(next, ['start', '-H', '127.0.0.1', '-p', String(port)], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      SCHEDULER_TOKEN: TOKEN,
      APP_ENV: 'local',
      LOG_LEVEL: 'warn',
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  await answers(origin, child);
  return {
    origin,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (typeof address !== 'object' || address === null) throw new Error('no port is free');
  return address.port;
}

async function answers(origin: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    if (child.exitCode !== null) throw new Error('the web app did not start');
    if (
      await fetch(origin).then(
        () => true,
        () => false,
      )
    )
      return;
    await sleep(200);
  }
  throw new Error('the web app did not answer');
}

const PATHS = {
  millrace: '/internal/jobs/reindex_runs',
  bare: '/insert',
} as const satisfies Record<PostSystem, string>;

/** POST requests per second by wrk with 16 connections, each request with a key of its own. */
export function measurePosts(system: PostSystem, origin: string, seconds: number): number {
  const script = join(tmpdir(), `millrace-bench-${process.pid}.lua`);
  writeFileSync(script, wrkScript(Date.now()));
  const output = execFileSync(
    'wrk',
    ['-t1', '-c16', `-d${seconds}s`, '-s', script, `${origin}${PATHS[system]}`],
    { encoding: 'utf8' },
  );
  if (/Non-2xx/.test(output)) throw new Error(`${system} refused requests:\n${output}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
}

function wrkScript(prefix: number): string {
  return `
local n = 0
request = function()
  n = n + 1
  return wrk.format("POST", nil, {
    ["Authorization"] = "Bearer ${TOKEN}",
    ["Idempotency-Key"] = "bench:${prefix}:" .. n
  })
end
`;
}
