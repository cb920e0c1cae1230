import { readEnv } from '../env.ts';

/** Refuses to serve with an environment that is not valid: one line, exit code 1. */
export function startServer(): void {
  try {
    readEnv();
  } catch (error) {
    process.stderr.write(`millrace: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
