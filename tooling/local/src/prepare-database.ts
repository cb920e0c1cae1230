import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { BackOff } from './back-off.ts';
import { checkDatabase } from './check-database.ts';
import { startPostgres, type EmbeddedPostgres } from './embedded-postgres.ts';
import { describeFault } from './fault.ts';
import { rotateLog } from './log-file.ts';
import type { StopStack } from './stop-stack.ts';

export interface DatabaseInput {
  /** DATABASE_URL, if the user has a server. */
  readonly given: string | undefined;
  readonly dataDir: string;
  readonly logs: string;
  readonly started: StopStack;
  readonly print: (line: string) => void;
}

/** The URL of the given server, once it is known to fit, or of one of our own that now runs. */
export async function prepareDatabase(input: DatabaseInput): Promise<string> {
  if (input.given !== undefined) {
    await checkDatabase(input.given);
    return input.given;
  }
  input.print('starting PostgreSQL …');
  const logFile = join(input.logs, 'postgresql.log');
  rotateLog(logFile);
  return keepRunning(input, () =>
    startPostgres({ dataDir: input.dataDir, log: input.print, logFile }),
  );
}

/** Starts it, and again when it ends although nobody asked. */
async function keepRunning(
  { started, print }: DatabaseInput,
  start: () => Promise<EmbeddedPostgres>,
): Promise<string> {
  const backOff = new BackOff();
  const stopping = new AbortController();
  let startedAt = Date.now();
  let current = await start();
  const { url } = current;
  let restart: Promise<void> | undefined;

  const revive = async (): Promise<void> => {
    for (;;) {
      const delayMs = backOff.delayMs(Date.now() - startedAt);
      print(`PostgreSQL ended by itself: starting it again in ${delayMs / 1000} s`);
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      startedAt = Date.now();
      try {
        current = await start();
        if (current.url !== url) print('PostgreSQL had to take another port: start again (Ctrl-C)');
        return watch();
      } catch (error) {
        print(describeFault(error));
      }
    }
  };
  const watch = (): void => {
    void current.ended.then(() => {
      if (!stopping.signal.aborted) restart = revive();
    });
  };
  watch();
  started.push({
    stop: async () => {
      stopping.abort();
      await restart;
      await current.stop();
    },
    kill: () => current.kill(),
  });
  return url;
}
