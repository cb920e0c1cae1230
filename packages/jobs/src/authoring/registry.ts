import type { AnyDefinition } from '../contract/definition.ts';
import type { QueueSettings } from '../contract/queue.ts';
import type { Handler, InlineHandler } from './handler.ts';
import type { JobDefinition } from '../contract/definition.ts';

/**
 * A handler whose argument type is known only to its definition. The engine calls it with what that
 * definition's schema returned, which is what makes `never` safe here.
 */
export type ErasedHandler = Handler<JobDefinition<string, never>>;

/** Everything a process knows about its jobs. The engine receives it and imports no job. */
export interface Registry {
  readonly definitions: ReadonlyMap<string, AnyDefinition>;
  /** The definition that has or once had this name. */
  find(name: string): AnyDefinition | undefined;
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** Loads the handler of a queued definition; absent in processes that only enqueue. */
  readonly loadHandler?: (name: string) => Promise<ErasedHandler>;
  /** Loads the handler of an inline definition; absent in processes that serve none. */
  readonly loadInlineHandler?: (name: string) => Promise<InlineHandler>;
}
