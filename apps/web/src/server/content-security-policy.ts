/** The policy of a page: its own files, and the scripts that Next.js marks with this nonce. */
export function contentSecurityPolicy(nonce: string, hotReload: boolean): string {
  return Object.entries({
    'default-src': "'self'",
    // Hot reload evaluates code and writes style elements.
    'script-src': `'self' 'nonce-${nonce}' 'strict-dynamic'${hotReload ? " 'unsafe-eval'" : ''}`,
    'style-src': hotReload ? "'self' 'unsafe-inline'" : `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'object-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ');
}
