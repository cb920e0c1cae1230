/** Names of queues: they become schema names (`gw_<name>`). */
export const QUEUE_NAME = /^[a-z][a-z0-9_]{0,59}$/;

/** How a worker process runs a queue. */
export interface QueueSettings {
  /** Handlers that run at the same time in one process. */
  readonly concurrency: number;
  /**
   * Tickets that a process fetches beyond its concurrency. Raises throughput of short runs, but a
   * fetched ticket is not free for other processes: 0 for slow or interactive work.
   */
  readonly prefetch: number;
}
