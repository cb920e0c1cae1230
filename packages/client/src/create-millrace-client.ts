import type { OpsRouter } from '@millrace/web/ops-router';
import { createTRPCClient, httpBatchLink, type TRPCClient, TRPCClientError } from '@trpc/client';

export interface MillraceClientOptions {
  /** Where web answers, such as `https://jobs.example.com`. */
  readonly url: string;
  /** An API token with the permissions of what is called. */
  readonly token: string;
  /** Instead of the global one: for timeouts, proxies and tests. */
  readonly fetch?: NonNullable<Parameters<typeof httpBatchLink>[0]['fetch']>;
}

export type MillraceClient = TRPCClient<OpsRouter>;

/**
 * The operators' API, typed: `client.queues.pause.mutate({ name: 'mail', reason: '…' })`. Calls of the same
 * tick travel together. A call that is refused rejects with an error that {@link problemOf} reads.
 */
export function createMillraceClient({ url, token, fetch }: MillraceClientOptions): MillraceClient {
  return createTRPCClient<OpsRouter>({
    links: [
      httpBatchLink({
        url: new URL('/api/trpc', url),
        headers: { authorization: `Bearer ${token}` },
        maxURLLength: 8_000,
        ...(fetch && { fetch }),
      }),
    ],
  });
}

/** Why a call was refused, in the words and codes of the operators' API. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** Further facts, by the code. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What the server says of an error; null for one that is not the server's, such as a broken connection. */
export function problemOf(error: unknown): Problem | null {
  if (!(error instanceof TRPCClientError)) return null;
  const data = error.data as { readonly problem?: Problem } | null | undefined;
  return data?.problem ?? null;
}
