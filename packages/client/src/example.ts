import { createMillraceClient, problemOf } from './create-millrace-client.ts';

/** Holds a queue back while `work` goes on, as a deploy script of another service does. */
export async function withQueueHeldBack(
  { url, token, queue }: { readonly url: string; readonly token: string; readonly queue: string },
  work: () => Promise<void>,
): Promise<void> {
  const client = createMillraceClient({ url, token });
  try {
    await client.queues.pause.mutate({ name: queue, reason: 'a deploy' });
  } catch (error) {
    throw new Error(problemOf(error)?.detail ?? 'Millrace does not answer', { cause: error });
  }
  try {
    await work();
  } finally {
    await client.queues.resume.mutate({ name: queue });
  }
}
