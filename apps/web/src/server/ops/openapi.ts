import { ERRORS } from '@millrace/jobs/contract/errors';

import { type InputSchema, inputSchema } from './input-schema.ts';
import { fieldOf, OPS_ROUTES, type OpsRoute } from './ops-routes.ts';

/** The operators' API as an OpenAPI 3.1 document, made of the same routes and schemas that serve it. */
export function openApiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of OPS_ROUTES) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace: operators’ API',
      version: '1',
      description: 'Configuration, queues, runs, bulk actions, workers, audit and tokens.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: PROBLEM },
      responses: {
        Problem: {
          description: 'Refused or failed: an RFC 9457 problem document',
          content: {
            'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
          },
        },
      },
    },
  };
}

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong and what to do' },
    code: { enum: Object.keys(ERRORS) },
    requestId: { type: 'string' },
    details: { type: 'object', description: 'Further facts, by the code' },
  },
};

function operation(route: OpsRoute): Record<string, unknown> {
  const schema = inputSchema(route.input);
  const fields = route.path.split('/').flatMap((part) => fieldOf(part) ?? []);
  const inQuery = route.method === 'GET' || route.method === 'DELETE';
  const rest = without(schema, fields);
  const hasBody = !inQuery && Object.keys(rest.properties ?? {}).length > 0;
  return {
    operationId: route.verb,
    summary: route.summary,
    description: `Needs the permission \`${route.permission}\`.`,
    parameters: [
      ...fields.map((name) => parameter('path', name, schema.properties?.[name], true)),
      ...(inQuery ? queryParameters(rest) : []),
    ],
    ...(hasBody && {
      requestBody: {
        required: (rest.required ?? []).length > 0,
        content: { 'application/json': { schema: rest } },
      },
    }),
    responses: {
      [route.status]: { description: 'Done', content: { 'application/json': { schema: {} } } },
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function without(schema: InputSchema, fields: readonly string[]): InputSchema {
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(schema.properties ?? {}).filter(([name]) => !fields.includes(name)),
    ),
    required: (schema.required ?? []).filter((name) => !fields.includes(name)),
  };
}

/** A filter's fields stand beside the others. */
function queryParameters({ properties = {}, required = [] }: InputSchema): unknown[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    name === 'filter'
      ? Object.entries(schema.properties ?? {}).map(([field, of]) => parameter('query', field, of))
      : [parameter('query', name, schema, required.includes(name))],
  );
}

function parameter(place: string, name: string, schema: InputSchema = {}, required = false) {
  return { in: place, name, required, schema };
}
