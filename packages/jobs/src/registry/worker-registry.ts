import { queues } from '../definitions/queues.ts';
import { createRegistry } from './create-registry.ts';
import { definitions } from './definitions.gen.ts';
import { handlers } from './handlers.gen.ts';

/** What a worker process knows: every definition, and how to load the queued ones' handlers. */
export const workerRegistry = createRegistry({ definitions, queues, handlers });
