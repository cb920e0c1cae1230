import { join } from 'node:path';

import { freePort } from './ports.ts';
import { REPOSITORY } from './repository.ts';
import type { ProgramSpec } from './supervise.ts';

export interface ProgramsInput {
  readonly dev: boolean;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  readonly logs: string;
  readonly print: (line: string) => void;
}

const HERE = import.meta.dirname;
const WORKER = join(REPOSITORY, 'apps', 'worker', 'src', 'main.ts');

export function webProgram({ dev, port, env, logs, print }: ProgramsInput): ProgramSpec {
  return {
    name: 'web',
    args: [join(HERE, 'run-next.ts'), dev ? 'dev' : 'start', '-H', '127.0.0.1', '-p', String(port)],
    cwd: join(REPOSITORY, 'apps', 'web'),
    env: { ...env, NODE_ENV: dev ? 'development' : 'production' },
    logFile: join(logs, 'web.log'),
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    stopTimeoutMs: 10_000,
    print,
  };
}

/** The worker of these queues; it hands back what it runs within its 25 s. */
export async function workerProgram(
  queues: string,
  { dev, env, logs, print }: ProgramsInput,
): Promise<ProgramSpec> {
  const healthPort = await freePort();
  const name = `worker-${queues.replaceAll(',', '-')}`;
  return {
    name,
    args: [...(dev ? [join(HERE, 'run-watched.ts')] : []), WORKER, '--queues', queues],
    cwd: REPOSITORY,
    env: { ...env, HEALTH_PORT: String(healthPort) },
    logFile: join(logs, `${name}.log`),
    readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    stopTimeoutMs: 30_000,
    print,
  };
}
