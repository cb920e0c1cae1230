import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { AnyDefinition } from '@millrace/jobs/contract/definition';
import type { QueueSettings } from '@millrace/jobs/contract/queue';

import { Refusal } from './refusal.ts';

/** What a checkout holds already. */
export interface Installation {
  /** The folder `packages/jobs/src`. */
  readonly jobs: string;
  /** Everything in `definitions/` that a new folder could meet. */
  readonly taken: readonly string[];
  readonly definitions: readonly AnyDefinition[];
  readonly queues: Readonly<Record<string, QueueSettings>>;
}

/** Reads the definitions from their folders, not from the registry, which may not be current. */
export async function readInstallation(root: string): Promise<Installation> {
  const jobs = join(root, 'packages', 'jobs', 'src');
  const entries = await readdir(join(jobs, 'definitions'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const definitions: AnyDefinition[] = [];
  for (const folder of folders.toSorted()) {
    definitions.push(...(await loadDefinitions(jobs, join('definitions', folder))));
  }
  const queues = await load(jobs, join('definitions', 'queues.ts'));
  return {
    jobs,
    taken: entries.map(({ name }) => name),
    definitions,
    queues: queues['queues'] as Installation['queues'],
  };
}

/** The definitions that the definition.ts of a folder exports. */
export async function loadDefinitions(jobs: string, folder: string): Promise<AnyDefinition[]> {
  const exported = await load(jobs, join(folder, 'definition.ts'));
  return Object.values(exported).filter(isDefinition);
}

async function load(jobs: string, path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(join(jobs, path)).href)) as Record<string, unknown>;
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new Refusal(`packages/jobs/src/${path} cannot be loaded, mend it first: ${reason}`);
  }
}

function isDefinition(value: unknown): value is AnyDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'form' in value &&
    (value.form === 'queued' || value.form === 'inline')
  );
}
