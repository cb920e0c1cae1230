import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

import { BackOff } from './back-off.ts';
import { Fault } from './fault.ts';
import { followLog, rotateLog, tailLog } from './log-file.ts';
import { signalGroup } from './process-group.ts';

export interface ProgramSpec {
  /** As it is called on the terminal. */
  readonly name: string;
  /** Of Node.js: the script and its arguments. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** 200 when it can do its work. */
  readonly readyUrl: string;
  /** How long it may take to stop before it is killed. */
  readonly stopTimeoutMs: number;
  readonly print: (line: string) => void;
}

export interface Program {
  readonly spec: ProgramSpec;
  /** Rejects when the program ends before it was declared `steady`. */
  readonly failedStart: Promise<never>;
  /** From now on an end that nobody asked for is followed by a new start. */
  steady(): void;
  /** Asks it to end, kills it after its time, resolves when it is gone. */
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Runs a program in a process group of its own, so that a terminal's Ctrl-C does not reach it, with a
 * channel by which it learns that we are gone.
 */
export function supervise(spec: ProgramSpec): Program {
  const backOff = new BackOff();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  let steady = false;
  let stopping = false;
  let restart: NodeJS.Timeout | undefined;
  let child: ChildProcess;
  let ended: Promise<void>;

  const start = (): void => {
    const startedAt = Date.now();
    child = launch(spec);
    ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', (code, signal) => {
        resolve();
        if (stopping) return;
        const how = `${spec.name} ended by itself (${signal ?? `exit code ${code ?? '?'}`})`;
        if (!steady) return failed.reject(failedStart(spec, how));
        const delayMs = backOff.delayMs(Date.now() - startedAt);
        spec.print(`${how}: starting it again in ${delayMs / 1000} s (log: ${spec.logFile})`);
        restart = setTimeout(start, delayMs);
      });
    });
  };
  rotateLog(spec.logFile);
  const unfollow = followLog(spec.logFile, (line) => spec.print(`${spec.name}: ${line}`));
  start();

  return {
    spec,
    failedStart: failed.promise,
    steady: () => void (steady = true),
    stop: async () => {
      stopping = true;
      clearTimeout(restart);
      child.kill('SIGTERM');
      const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), spec.stopTimeoutMs);
      await ended;
      clearTimeout(timer);
      // What it started itself and left.
      signalGroup(child.pid, 'SIGKILL');
      unfollow();
    },
    kill: () => {
      stopping = true;
      clearTimeout(restart);
      signalGroup(child.pid, 'SIGKILL');
    },
  };
}

function launch(spec: ProgramSpec): ChildProcess {
  const log = openSync(spec.logFile, 'a');
  try {
    return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...spec.args], {
      cwd: spec.cwd,
      env: spec.env,
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    });
  } finally {
    closeSync(log);
  }
}

function failedStart(spec: ProgramSpec, how: string): Fault {
  return new Fault(`${how}; the end of ${spec.logFile}:\n${tailLog(spec.logFile, 15)}`);
}
