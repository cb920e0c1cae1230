import type { NextConfig } from 'next';

const config: NextConfig = {
  poweredByHeader: false,
  // A scheduler that follows a redirect would lose its POST.
  skipTrailingSlashRedirect: true,
  serverExternalPackages: ['pino', 'pg', 'graphile-worker', '@prisma/client'],
  transpilePackages: ['@millrace/db', '@millrace/jobs'],
};

export default config;
