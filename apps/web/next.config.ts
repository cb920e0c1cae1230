import type { NextConfig } from 'next';

const SECURITY_HEADERS = [
  { key: 'X-Content-Type-Options', value: 'nosniff' },
  { key: 'Referrer-Policy', value: 'no-referrer' },
  { key: 'X-Frame-Options', value: 'DENY' },
];

/** What is no page needs nothing from anywhere; pages get their policy in src/proxy.ts. */
const NO_CONTENT = [
  { key: 'Content-Security-Policy', value: "default-src 'none'; frame-ancestors 'none'" },
];

const config: NextConfig = {
  poweredByHeader: false,
  // A scheduler that follows a redirect would lose its POST.
  skipTrailingSlashRedirect: true,
  serverExternalPackages: [
    'pino',
    'pg',
    'graphile-worker',
    '@prisma/client',
    '@opentelemetry/api',
    '@opentelemetry/exporter-prometheus',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-metrics',
    '@opentelemetry/sdk-node',
  ],
  transpilePackages: ['@millrace/db', '@millrace/jobs', '@millrace/telemetry'],
  headers: () =>
    Promise.resolve([
      { source: '/:path*', headers: SECURITY_HEADERS },
      ...['/internal/:path+', '/healthz', '/readyz', '/metrics'].map((source) => ({
        source,
        headers: NO_CONTENT,
      })),
    ]),
};

export default config;
