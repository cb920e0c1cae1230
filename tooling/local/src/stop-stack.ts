import { describeFault } from './fault.ts';

interface Started {
  readonly stop: () => Promise<void> | void;
  readonly kill?: () => void;
}

/** What was started, so that the last of it is stopped first. */
export class StopStack {
  readonly #started: Started[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  push(started: Started): void {
    this.#started.push(started);
  }

  /** One that does not stop keeps no other from being stopped. */
  async stopAll(): Promise<void> {
    for (const started of this.#started.toReversed()) {
      try {
        await started.stop();
      } catch (error) {
        this.#print(`while stopping: ${describeFault(error)}`);
      }
      this.#started.splice(this.#started.indexOf(started), 1);
    }
  }

  /** At once; what cannot be killed but only given back (a lock) is given back. */
  killAll(): void {
    for (const { stop, kill } of this.#started.toReversed()) {
      if (kill) kill();
      else void stop();
    }
  }
}
