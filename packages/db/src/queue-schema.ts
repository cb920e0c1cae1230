const QUEUE_NAME = /^[a-z][a-z0-9_]{0,59}$/;

/** The graphile-worker schema of a queue. Throws when the name cannot be a queue's. */
export function queueSchema(queue: string): string {
  if (!QUEUE_NAME.test(queue)) throw new Error(`"${queue}" is not a queue name`);
  return `gw_${queue}`;
}
