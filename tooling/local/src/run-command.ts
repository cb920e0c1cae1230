import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { endWith } from './end-with.ts';
import { Fault } from './fault.ts';
import { signalGroup } from './process-group.ts';

export interface Command {
  /** As it is called when it fails. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

export interface Result {
  readonly ok: boolean;
  /** Standard output and standard error as they came. */
  readonly output: string;
}

/** Runs a command to its end; the signal ends it with everything that it started. */
export async function runCommand(command: Command): Promise<Result> {
  command.signal?.throwIfAborted();
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const tie = child.pid === undefined ? null : endWith(-child.pid, 'TERM');
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  }
  const abort = (): void => {
    signalGroup(child.pid, 'SIGTERM');
    setTimeout(() => signalGroup(child.pid, 'SIGKILL'), 5000).unref();
  };
  command.signal?.addEventListener('abort', abort, { once: true });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    command.signal?.throwIfAborted();
    return { ok: code === 0, output: Buffer.concat(chunks).toString('utf8') };
  } finally {
    tie?.cut();
    command.signal?.removeEventListener('abort', abort);
  }
}

/** Like `runCommand`; throws a `Fault` with the whole output when the command fails. */
export async function mustRun(command: Command): Promise<void> {
  const { ok, output } = await runCommand(command);
  if (!ok) throw new Fault(`${command.name} failed:\n${output.trimEnd()}`);
}
