/** Something the user can mend. Its message is one line and reaches the terminal without a stack. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

/** What went wrong, in one line and without a stack. */
export function describeFault(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return describeFault(error.errors[0]);
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/** Whether this is an error of the operating system with one of these codes (`ENOENT`, …). */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  );
}
