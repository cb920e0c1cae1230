import type { Logger } from 'pino';

/** What processes tell each other through PostgreSQL: ids only. */
export type ControlMessage =
  | { readonly cancel: string }
  | { readonly done: string }
  | { readonly probe: string }
  /** Its override has changed. */
  | { readonly definition: string }
  /** It was paused or resumed. */
  | { readonly queue: string }
  /** It is to drain. */
  | { readonly worker: string };

export interface ControlChannelOptions {
  readonly connectionString: string;
  readonly applicationName: string;
  readonly log: Logger;
  readonly onMessage: (message: ControlMessage) => void;
  /** Called after every (re)connection: what was said in between has been missed. */
  readonly onConnect: () => void;
  /** How often the connection is probed, and how long a probe may take; 5 s unless given. */
  readonly probeMs?: number;
}
