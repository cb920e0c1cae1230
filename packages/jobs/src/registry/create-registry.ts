import type { ErasedHandler, Registry } from '../authoring/registry.ts';
import type { InlineHandler } from '../authoring/handler.ts';
import type { AnyDefinition } from '../contract/definition.ts';
import { QUEUE_NAME, type QueueSettings } from '../contract/queue.ts';

interface RegistryParts {
  readonly definitions: readonly AnyDefinition[];
  readonly queues: Readonly<Record<string, QueueSettings>>;
  /** Loaders of handlers by definition name. */
  readonly handlers?: Readonly<Record<string, () => Promise<ErasedHandler>>>;
  readonly inlineHandlers?: Readonly<Record<string, () => Promise<InlineHandler>>>;
}

/**
 * Puts the definitions of a process together. Throws a `TypeError` that lists every fault: a name
 * that is used twice, a queue that is not declared, a handler that is missing.
 */
export function createRegistry(parts: RegistryParts): Registry {
  const { handlers, inlineHandlers } = parts;
  const queues = new Map(Object.entries(parts.queues));
  const definitions = new Map<string, AnyDefinition>();
  const faults: string[] = [];

  for (const [name, { concurrency, prefetch }] of queues) {
    if (!QUEUE_NAME.test(name)) faults.push(`"${name}" is not a queue name`);
    if (!(Number.isInteger(concurrency) && concurrency > 0))
      faults.push(`queue ${name}: concurrency`);
    if (!(Number.isInteger(prefetch) && prefetch >= 0)) faults.push(`queue ${name}: prefetch`);
  }
  for (const definition of parts.definitions) {
    if (definitions.has(definition.name))
      faults.push(`two definitions are named ${definition.name}`);
    definitions.set(definition.name, definition);
    if (definition.form === 'queued' && !queues.has(definition.queue)) {
      faults.push(`${definition.name} names the queue ${definition.queue}, which is not declared`);
    }
    const loaders = definition.form === 'queued' ? handlers : inlineHandlers;
    if (loaders && !Object.hasOwn(loaders, definition.name)) {
      faults.push(`${definition.name} has no handler`);
    }
  }
  const heirs = new Map<string, string>();
  for (const { name, formerNames } of definitions.values()) {
    for (const former of formerNames) {
      if (definitions.has(former) || heirs.has(former)) {
        faults.push(`the former name ${former} of ${name} belongs to another definition`);
      }
      heirs.set(former, name);
    }
  }
  if (faults.length > 0)
    throw new TypeError(`The job registry is not valid: ${faults.join('; ')}.`);

  return {
    definitions,
    find: (name) => definitions.get(heirs.get(name) ?? name),
    queues,
    ...(handlers && { loadHandler: loader(handlers) }),
    ...(inlineHandlers && { loadInlineHandler: loader(inlineHandlers) }),
  };
}

function loader<Handler>(
  loaders: Readonly<Record<string, () => Promise<Handler>>>,
): (name: string) => Promise<Handler> {
  const loaded = new Map<string, Promise<Handler>>();
  return (name) => {
    let handler = loaded.get(name);
    if (!handler) {
      const load = loaders[name];
      if (!load) throw new Error(`there is no handler for ${name}`);
      handler = load();
      loaded.set(name, handler);
      // A failed import may succeed at the next attempt.
      handler.catch(() => loaded.delete(name));
    }
    return handler;
  };
}
