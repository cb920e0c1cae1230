/** Ends a process that could not start: one line that says why, exit code 1. */
export function failStart(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`millrace: ${message.replaceAll('\n', ' ')}\n`);
  process.exit(1);
}
