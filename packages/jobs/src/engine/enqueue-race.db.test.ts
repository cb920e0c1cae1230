import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { ok } from '../testing/test-jobs.ts';
import { until } from '../testing/until.ts';
import { useWorkers } from '../testing/use-workers.ts';
import { createJobClient } from './enqueue-run.ts';

const database = useDatabase({ poolSize: 20 });
const start = useWorkers(database);

describe('enqueue while runs of the same dedupe key finish', () => {
  it('answers every caller with a run of its own definition and tags', async () => {
    await start();
    const clients = Array.from({ length: 6 }, () => createJobClient({ pool: database.pool }));
    for (let round = 0; round < 60; round++) {
      const answers = await Promise.all(
        clients.flatMap((client, n) => [
          client.enqueue(ok, { note: 'shared' }, { dedupe: { key: 'shared' } }),
          client.enqueue(ok, { note: 'own' }, { tags: [`own-${round}-${n}`] }),
        ]),
      );
      const own = answers.filter((_, index) => index % 2 === 1).map(({ runId }) => runId);
      const rows = await database.db.run.findMany({ where: { id: { in: own } } });
      const tagOf = new Map(rows.map(({ id, tags }) => [id, tags[0]]));
      expect(own.map((id) => tagOf.get(id))).toEqual(clients.map((_, n) => `own-${round}-${n}`));
    }
    await until(
      'all are over',
      async () => (await database.db.run.count({ where: { finishedAt: null } })) === 0,
    );
  });
});
