import { randomUUID } from 'node:crypto';

import type { TestDatabase } from '@millrace/db/testing';
import { z } from 'zod';

import { defineInlineJob } from '../authoring/define-inline-job.ts';
import { defineJob } from '../authoring/define-job.ts';
import type { Registry } from '../authoring/registry.ts';
import { type Role, ROLES } from '../contract/permission.ts';
import type { ManagerContext } from '../manager/verb.ts';
import { createRegistry } from '../registry/create-registry.ts';
import { definitions } from './test-jobs.ts';

/** Definitions that operators change in tests, beside those of `test-jobs.ts`. */
export const nightly = defineJob({
  name: 'test.nightly',
  description: 'Runs every night.',
  args: z.object({}),
  schedule: '0 3 * * *',
  timezone: 'Europe/Berlin',
});

export const sweep = defineInlineJob({ name: 'test.sweep', description: 'Sweeps.', limit: 10 });

export const managerRegistry: Registry = createRegistry({
  definitions: [...definitions, nightly, sweep],
  queues: {
    default: { concurrency: 10, prefetch: 0 },
    batch: { concurrency: 2, prefetch: 0 },
    mail: { concurrency: 2, prefetch: 0 },
  },
});

/** What a verb is called with, by somebody with that role. */
export function managerContext(
  { pool }: TestDatabase,
  role: Role = 'operator',
  name = 'Grace',
): ManagerContext {
  return {
    pool,
    registry: managerRegistry,
    requestId: randomUUID(),
    actor: {
      kind: 'user',
      id: `id of ${name}`,
      label: name,
      orgId: null,
      permissions: ROLES[role],
    },
  };
}
