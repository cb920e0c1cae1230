import { randomBytes } from 'node:crypto';

import { type NextRequest, NextResponse } from 'next/server';

import { isHotReload } from './env.ts';
import { contentSecurityPolicy } from './server/content-security-policy.ts';

const POLICY = 'content-security-policy';

/** Gives every page its content security policy. Next.js finds the nonce in the request's header. */
export function proxy(request: NextRequest): NextResponse {
  const policy = contentSecurityPolicy(randomBytes(16).toString('base64'), isHotReload());
  const headers = new Headers(request.headers);
  headers.set(POLICY, policy);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set(POLICY, policy);
  return response;
}

// Pages only: the scheduler's calls and the probes take no detour.
export const config = {
  matcher: '/((?!internal/|healthz$|readyz$|metrics$|_next/static/|icon\\.svg$).*)',
};
