import { z } from 'zod';

/** As much of JSON Schema as the inputs of verbs come to. */
export interface InputSchema {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, InputSchema>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

const known = new WeakMap<z.ZodType, InputSchema>();

/** What a verb's input looks like in JSON. */
export function inputSchema(input: z.ZodType): InputSchema {
  const found = known.get(input);
  if (found) return found;
  const { $schema: _draft, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema._zod.def.type !== 'date') return;
      jsonSchema.type = 'string';
      jsonSchema.format = 'date-time';
    },
  });
  known.set(input, schema as InputSchema);
  return schema as InputSchema;
}
