import type { Permission } from './permission.ts';
import type { Actor } from './run-context.ts';

/** Who calls a verb, with what they may do. The permissions are never stored. */
export interface Caller extends Actor {
  readonly permissions: readonly Permission[];
}
