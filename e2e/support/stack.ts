import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createPool } from '@millrace/db/pool';
import { createDatabase } from '@millrace/local/create-database';
import { freePort } from '@millrace/local/ports';
import { webProgram, workerProgram } from '@millrace/local/programs';
import { REPOSITORY } from '@millrace/local/repository';
import { mustRun } from '@millrace/local/run-command';
import { StopStack } from '@millrace/local/stop-stack';
import { type ProgramSpec, supervise } from '@millrace/local/supervise';
import { waitUntilReady } from '@millrace/local/wait-until-ready';

const READY_WITHIN_MS = 60_000;
// Database tests remove what an interrupted run left under this prefix.
const DATABASE_PREFIX = 'millrace_test_e2e_';

export const SECRET = 'the-scheduler-secret-of-the-browser-tests';
export const PREVIOUS_SECRET = 'the-previous-secret-of-the-browser-tests';

const print = (line: string): void => console.error(line);

/** Whatever a test starts; `stop` ends all of it, the last first, and gives back what it took. */
export class Stack {
  readonly #stop = new StopStack(print);
  readonly #logs = mkdtempSync(join(tmpdir(), 'millrace-e2e-'));

  constructor() {
    this.#stop.push({ stop: () => rmSync(this.#logs, { recursive: true, force: true }) });
  }

  /** A database of its own; migrated. */
  async database(): Promise<string> {
    const server = process.env['TEST_DATABASE_URL'];
    if (!server) {
      throw new Error('TEST_DATABASE_URL is not set: the URL of a superuser (./bin/test sets it)');
    }
    const name = DATABASE_PREFIX + randomBytes(5).toString('hex');
    const url = new URL(server);
    url.pathname = `/${name}`;
    await createDatabase(url.toString());
    this.#stop.push({ stop: () => dropDatabase(server, name) });
    await mustRun({
      name: 'migrate',
      file: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', join('apps', 'worker', 'src', 'migrate.ts')],
      cwd: REPOSITORY,
      env: environment(url.toString()),
    });
    return url.toString();
  }

  /** `next start` over this database; its address. */
  async web(databaseUrl: string, { appEnv = 'local', waitFor = '/readyz' } = {}): Promise<string> {
    if (!existsSync(join(REPOSITORY, 'apps', 'web', '.next', 'BUILD_ID'))) {
      throw new Error('apps/web is not built: pnpm build (./bin/test e2e does it)');
    }
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { ...environment(databaseUrl), APP_ENV: appEnv };
    const spec = webProgram({ dev: false, port, env, logs: this.#logs, print });
    const logFile = join(this.#logs, `web-${port}.log`);
    await this.#run({ ...spec, readyUrl: url + waitFor, logFile });
    return url;
  }

  async worker(databaseUrl: string, queues: string): Promise<void> {
    const env = environment(databaseUrl);
    await this.#run(
      await workerProgram(queues, { dev: false, port: 0, env, logs: this.#logs, print }),
    );
  }

  async #run(spec: ProgramSpec): Promise<void> {
    // What a test provokes belongs to the test; what fails a start is told by its error.
    const program = supervise({ ...spec, print: () => undefined });
    this.#stop.push({ stop: () => program.stop(), kill: () => program.kill() });
    await waitUntilReady([program], READY_WITHIN_MS, new AbortController().signal);
  }

  stop(): Promise<void> {
    return this.#stop.stopAll();
  }
}

/** Of a process of this database, whatever the terminal's own environment says. */
export function environment(databaseUrl: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    TMPDIR: process.env['TMPDIR'],
    NODE_ENV: 'production',
    NEXT_TELEMETRY_DISABLED: '1',
    DATABASE_URL: databaseUrl,
    APP_ENV: 'local',
    SCHEDULER_TOKEN: SECRET,
    SCHEDULER_TOKEN_PREVIOUS: PREVIOUS_SECRET,
  };
}

async function dropDatabase(server: string, name: string): Promise<void> {
  const pool = createPool({
    connectionString: server,
    max: 1,
    applicationName: 'millrace e2e',
    log: { warn: () => undefined },
  });
  try {
    await pool.query(`drop database if exists ${name} with (force)`);
  } finally {
    await pool.end();
  }
}
