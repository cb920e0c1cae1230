import { queues } from '../definitions/queues.ts';
import { createRegistry } from './create-registry.ts';
import { definitions } from './definitions.gen.ts';
import { inlineHandlers } from './inline-handlers.gen.ts';

/** What the web process knows: every definition, and how to load the inline ones' handlers. */
export const webRegistry = createRegistry({ definitions, queues, inlineHandlers });
