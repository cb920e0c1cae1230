import { Fault } from './fault.ts';
import { tailLog } from './log-file.ts';
import type { Program } from './supervise.ts';

const POLL_MS = 200;

/** Resolves when all are ready. Throws a `Fault` when one ends or is not ready in time. */
export async function waitUntilReady(
  programs: readonly Program[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  await Promise.all(
    programs.map((program) => Promise.race([program.failedStart, poll(program, deadline, signal)])),
  );
}

async function poll({ spec }: Program, deadline: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const answer = await ask(spec.readyUrl);
    if (answer === null) return;
    if (Date.now() > deadline) {
      throw new Fault(
        `${spec.name} was not ready in time (${answer}); the end of ${spec.logFile}:\n${tailLog(spec.logFile, 15)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Null when it is ready, else what it said. */
async function ask(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    const text = (await response.text()).trim();
    return response.ok ? null : `${response.status} ${text.slice(0, 200)}`;
  } catch {
    return 'no answer';
  }
}
