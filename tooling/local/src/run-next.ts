/**
 * `next start` or `next dev` that ends with the process that started it: Next.js itself does not notice
 * when a supervisor was killed. Runs in apps/web; takes the arguments of `next`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const GRACE_MS = 5000;

process.on('disconnect', () => {
  setTimeout(() => process.exit(1), GRACE_MS).unref();
  process.kill(process.pid, 'SIGTERM');
});

const next = join(process.cwd(), 'node_modules', 'next', 'dist', 'bin', 'next');
await import(pathToFileURL(next).href);
