import type { NextConfig } from 'next';

const config: NextConfig = { poweredByHeader: false, serverExternalPackages: ['pg'] };

export default config;
