import { z } from 'zod';

import type { RunExplanation } from '../../contract/run-explanation.ts';
import { defineRead } from '../verb.ts';
import { explainRun } from './explain-run.ts';
import { findRun } from './find-run.ts';
import { gatherFacts } from './gather-facts.ts';

/** Why a run is where it is, and what would change it. Throws `job_not_found`. */
export const getExplanation = defineRead({
  name: 'runs.explain',
  permission: 'ops.jobs.read',
  input: z.strictObject({ id: z.uuid() }),
  subject: ({ id }) => ({ kind: 'run', id }),
  async read(scope, { id }): Promise<RunExplanation> {
    return explainRun(await gatherFacts(scope, await findRun(scope.tx, id)));
  },
});
