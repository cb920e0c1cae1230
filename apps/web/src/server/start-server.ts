import { readEnv } from '../env.ts';
import { startWebTelemetry } from './telemetry.ts';

/** Refuses to serve with an environment that is not valid: one line, exit code 1. */
export async function startServer(): Promise<void> {
  try {
    await startWebTelemetry(readEnv());
  } catch (error) {
    process.stderr.write(`millrace: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
