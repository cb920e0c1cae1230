import { setTimeout as sleep } from 'node:timers/promises';

import { JobError } from '@millrace/jobs/contract/errors';
import type { z } from 'zod';

import { type InputSchema, inputSchema } from './input-schema.ts';

/** More than the largest input: five hundred definitions, a thousand ids. */
const MAX_BODY_BYTES = 256 * 1024;
const READ_WITHIN_MS = 3_000;

/**
 * The fields of a query as the verb's input names them: numbers and truth values where the schema wants
 * some, and the fields of its `filter` inside of it. What the schema does not know stays, for the verb to
 * refuse by name.
 */
export function readQuery(query: URLSearchParams, input: z.ZodType): Record<string, unknown> {
  const { properties = {} } = inputSchema(input);
  const inFilter = properties['filter']?.properties ?? {};
  const top: Record<string, unknown> = {};
  const filter: Record<string, unknown> = {};
  for (const key of new Set(query.keys())) {
    const values = query.getAll(key);
    const isFilter = Object.hasOwn(inFilter, key);
    const schema = isFilter ? inFilter[key] : Object.hasOwn(properties, key) && properties[key];
    if (values.length > 1) {
      throw new JobError('invalid_request', `${key.slice(0, 60)} is given more than once.`);
    }
    define(isFilter ? filter : top, key, typed(values[0] ?? '', schema || {}));
  }
  return Object.keys(filter).length > 0 ? { ...top, filter } : top;
}

function typed(text: string, { type }: InputSchema): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** As an own property, whatever the name. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true });
}

/** The JSON object in the body; an empty body is an empty object. Throws `invalid_request`. */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request);
  if (bytes.byteLength === 0) return {};
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    throw new JobError('invalid_request', 'Send the body with Content-Type: application/json.');
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new JobError('invalid_request', 'The body is not JSON in UTF-8.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JobError('invalid_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

/** The body, as far as it is not too large and arrives in time. Throws `invalid_request`. */
export async function readBytes({ body }: Request): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const reader = body.getReader();
  const late = new AbortController();
  const timeout = sleep(READ_WITHIN_MS, null, { signal: late.signal }).catch(() => null);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      // A connection that breaks here is the client's doing.
      const read = await Promise.race([reader.read().catch(() => null), timeout]);
      if (read === null) throw new JobError('invalid_request', 'The body did not arrive.');
      if (read.done) return Buffer.concat(chunks);
      size += read.value.byteLength;
      if (size > MAX_BODY_BYTES) {
        throw new JobError('invalid_request', `The body has more than ${MAX_BODY_BYTES} bytes.`);
      }
      chunks.push(read.value);
    }
  } finally {
    late.abort();
    void reader.cancel().catch(() => undefined);
  }
}
