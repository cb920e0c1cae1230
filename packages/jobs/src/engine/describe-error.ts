import { inspect } from 'node:util';

import { scrub, storable } from './scrub.ts';

/** An error as it is stored with an execution. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

const MAX_MESSAGE = 2_000;
const MAX_STACK = 8_000;

const UNREADABLE = 'an error that cannot be read was thrown';

/**
 * Whatever was thrown as an `Error`; a thrown non-error gets a stack that says where it was caught. Never
 * throws, whatever the value's own inspection does.
 */
export function toError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
    // A string that is cut or broken into lines would hide what is to be removed from it.
    const shown = inspect(thrown, { depth: 2, maxStringLength: Infinity, breakLength: Infinity });
    return new Error(`a value that is no Error was thrown: ${shown}`);
  } catch {
    return new Error(UNREADABLE);
  }
}

/**
 * Name, message and stack (with causes), without any of the secrets, shortened. Never throws, whatever
 * the error's getters do.
 */
export function describeError(thrown: unknown, secrets: readonly string[]): ErrorDescription {
  // The limit may cut a surrogate pair in two, hence what is storable comes last.
  const told = (text: string, max: number): string => storable(scrub(text, secrets).slice(0, max));
  try {
    const error = toError(thrown);
    return {
      name: told(String(error.name), 200),
      message: told(String(error.message), MAX_MESSAGE),
      stack: told(stackWithCauses(error), MAX_STACK),
    };
  } catch {
    return { name: 'Error', message: UNREADABLE, stack: '' };
  }
}

function stackWithCauses(error: Error): string {
  const stacks: string[] = [];
  let current: unknown = error;
  while (current instanceof Error && stacks.length < 5) {
    stacks.push(String(current.stack ?? current.message));
    current = current.cause;
  }
  return stacks.join('\ncaused by: ');
}
