import type pg from 'pg';

import { JobError } from '../../contract/errors.ts';
import { getRun, type RunRow } from './sql/get-run.ts';

/** Throws `job_not_found`. */
export async function findRun(tx: pg.PoolClient, id: string): Promise<RunRow> {
  const { rows } = await tx.query<RunRow>({ ...getRun, values: [id] });
  if (!rows[0]) throw new JobError('job_not_found', `There is no run ${id}.`);
  return rows[0];
}
