import { globSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openApiDocument } from './openapi.ts';
import { matchOpsPath, OPS_ROUTES } from './ops-routes.ts';

const MANAGER = join(import.meta.dirname, '../../../../../packages/jobs/src/manager');

/** Every verb that there is: a new one is found without being named here. */
async function everyVerb(): Promise<string[]> {
  const verbs: string[] = [];
  for (const file of globSync('*/*.ts', { cwd: MANAGER })) {
    if (file.endsWith('.test.ts')) continue;
    const exported = (await import(join(MANAGER, file))) as Record<string, unknown>;
    for (const value of Object.values(exported)) {
      if (typeof value === 'function' && 'verb' in value) verbs.push(String(value.verb));
    }
  }
  return verbs;
}

describe('OPS_ROUTES', () => {
  it('lead to every verb, each by one address', async () => {
    expect(OPS_ROUTES.map(({ verb }) => verb).toSorted()).toEqual((await everyVerb()).toSorted());
  });

  it('are each found by its own address', () => {
    for (const { method, path } of OPS_ROUTES) {
      const segments = path.split('/').slice(1);
      expect(matchOpsPath(segments).methods.get(method)?.path).toBe(path);
    }
  });
});

describe('openApiDocument', () => {
  it('has an operation for every route, each with an id of its own', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    expect(operations).toHaveLength(OPS_ROUTES.length);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(OPS_ROUTES.length);
  });

  it('tells parameters and bodies as they are read', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, Operation>> };
    const list = paths['/ops/jobs/runs']?.['get'];
    const names = list?.parameters.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['definition', 'state', 'cursor', 'limit']));
    const pause = paths['/ops/queues/{name}/pause']?.['post'];
    expect(pause?.parameters).toMatchObject([{ in: 'path', name: 'name', required: true }]);
    expect(pause?.requestBody?.content['application/json'].schema).toMatchObject({
      required: ['reason'],
      properties: { until: { type: 'string', format: 'date-time' } },
      additionalProperties: false,
    });
    expect(JSON.parse(JSON.stringify(openApiDocument()))).toEqual(openApiDocument());
  });
});

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: unknown } };
  };
}
