import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

import { useDatabase } from '@millrace/db/testing';
import { createJobClient } from '@millrace/jobs/engine/enqueue-run';
import { workerRegistry } from '@millrace/jobs/registry/worker-registry';
import { until } from '@millrace/jobs/testing/until';
import { afterEach, describe, expect, it } from 'vitest';

import type { JobDefinition } from '@millrace/jobs/contract/definition';

const database = useDatabase();
const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  return port;
}

/** The worker itself, with its environment. */
async function startWorkerProcess(variables: Record<string, string>) {
  const port = await freePort();
  const program = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      APP_ENV: 'production',
      HEALTH_PORT: String(port),
      ...variables,
    },
  });
  ends.push(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  await until('the worker is ready', () => {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${output}`);
    return output.includes('worker ready');
  });
  return {
    output: () => output,
    metrics: async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
    async terminate() {
      child.kill('SIGTERM');
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    },
  };
}

async function executeHeartbeat(): Promise<void> {
  const client = createJobClient({ pool: database.pool });
  const heartbeat = workerRegistry.definitions.get('heartbeat') as JobDefinition;
  const { runId } = await client.enqueue(heartbeat, {});
  await until('it has succeeded', async () => {
    const run = await database.db.run.findUniqueOrThrow({ where: { id: runId } });
    return run.state === 'succeeded';
  });
}

describe('a worker process', { timeout: 30_000 }, () => {
  it('tells Prometheus what it executes and what waits', async () => {
    const worker = await startWorkerProcess({});
    await executeHeartbeat();
    const page = await worker.metrics();
    for (const line of [
      'millrace_runs_finished_total{definition="heartbeat",queue="default",outcome="succeeded"} 1',
      'millrace_run_duration_seconds_count{definition="heartbeat",queue="default",outcome="succeeded"} 1',
      'millrace_run_wait_seconds_count{definition="heartbeat",queue="default"} 1',
      'millrace_running{queue="default"} 0',
      'millrace_claimed{queue="default"} 0',
      'millrace_queue_runs{queue="default",state="queued"} 0',
      'millrace_heartbeat_age_seconds ',
      'millrace_event_loop_lag_seconds{quantile="1"} ',
    ]) {
      expect(page).toContain(line);
    }
    expect(await worker.terminate()).toBe(0);
  });

  it('exports its spans to a collector when the environment names one', async () => {
    const received: string[] = [];
    const collector = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => received.push(chunk.toString('latin1')));
      request.on('end', () => response.writeHead(200).end());
    });
    const port = await listen(collector);
    const worker = await startWorkerProcess({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_SERVICE_NAME: 'my-worker',
    });
    await executeHeartbeat();
    expect(await worker.terminate()).toBe(0);
    expect(received.join('')).toContain('job heartbeat');
    expect(received.join('')).toContain('my-worker');
    expect(worker.output()).not.toMatch(/"level":[456]0/); // pino's warnings and errors
  });
});
