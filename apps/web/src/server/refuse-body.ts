import { JobError } from '@millrace/jobs/contract/errors';

/** Throws `body_not_accepted` if the request brings content; reads no more than its first bytes. */
export async function refuseBody(request: Request): Promise<void> {
  if (!request.body) return;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (value.byteLength > 0) {
      await reader.cancel();
      throw new JobError('body_not_accepted', 'Send no body: the job makes its own arguments.');
    }
  }
}
