import { expect } from './test.ts';
import { SECRET } from './stack.ts';

export interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Null sends none. */
  readonly secret?: string | null;
}

/** A call as a scheduler makes it: without cookies, following no redirect. */
export async function call(
  url: string,
  method: string,
  path: string,
  { headers = {}, body, secret = SECRET }: Call = {},
): Promise<{ status: number; headers: Headers; json: Record<string, unknown> }> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: { ...(secret !== null && { authorization: `Bearer ${secret}` }), ...headers },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** Triggers a queued job and polls its Location to its end. */
export async function runToItsEnd(url: string, type: string, headers = {}) {
  const posted = await call(url, 'POST', `/internal/jobs/${type}`, { headers });
  expect(posted.status).toBe(202);
  const location = posted.headers.get('location') ?? '';
  let job: Record<string, unknown> = {};
  await expect
    .poll(async () => {
      job = (await call(url, 'GET', location)).json;
      return job['done'];
    })
    .toBe(true);
  return { posted, job, location };
}
