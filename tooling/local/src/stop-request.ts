/** The first SIGINT, SIGTERM or SIGHUP asks to stop, the next one to stop at once. */
export interface StopRequest {
  readonly signal: AbortSignal;
  /** What to do at the second signal; the process ends afterwards. */
  onHurry(hurry: () => void): void;
}

/** Takes over these signals of this process. */
export function listenForStop(print: (line: string) => void): StopRequest {
  const controller = new AbortController();
  let hurry = (): void => undefined;
  const receive = (): void => {
    if (controller.signal.aborted) {
      hurry();
      process.exit(130);
    }
    print('stopping … (again to kill)');
    controller.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, receive);
  return { signal: controller.signal, onHurry: (callback) => void (hurry = callback) };
}

/** Resolves when the signal comes, or has come. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
