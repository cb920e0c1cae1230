import { setTimeout as sleep } from 'node:timers/promises';

import { JobError } from '@millrace/jobs/contract/errors';

const READ_WITHIN_MS = 3_000;

/**
 * Throws `body_not_accepted` if the request brings content, or announces some and does not send it;
 * reads no more than its first bytes.
 */
export async function refuseBody(request: Request): Promise<void> {
  if (!request.body) return;
  const reader = request.body.getReader();
  const late = new AbortController();
  const timeout = sleep(READ_WITHIN_MS, 'late' as const, { signal: late.signal }).catch(
    () => 'late' as const,
  );
  try {
    for (;;) {
      // A connection that breaks here is the client's doing.
      const read = await Promise.race([reader.read().catch(() => 'late' as const), timeout]);
      if (read === 'late') throw new JobError('body_not_accepted', 'The body did not arrive.');
      if (read.done) return;
      if (read.value.byteLength > 0) {
        throw new JobError('body_not_accepted', 'Send no body: the job makes its own arguments.');
      }
    }
  } finally {
    late.abort();
    void reader.cancel().catch(() => undefined);
  }
}
