import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { managerContext } from '../../testing/manager-context.ts';
import { pauseQueue } from '../queues/pause-queue.ts';
import { resumeQueue } from '../queues/resume-queue.ts';
import { listAudit } from './list-audit.ts';

const database = useDatabase();
const operator = () => managerContext(database, 'operator', 'Grace');
const viewer = () => managerContext(database, 'viewer', 'Vera');

describe('listAudit', () => {
  it('tells who did what and why, the latest first, page by page', async () => {
    await pauseQueue(operator(), { name: 'default', reason: 'the disk is full' });
    await resumeQueue(viewer(), { name: 'default' }).catch(() => undefined);
    await resumeQueue(operator(), { name: 'default' });

    const first = await listAudit(viewer(), { limit: 2 });
    expect(first.events).toMatchObject([
      { action: 'jobs.queue.resumed', outcome: 'done', actorLabel: 'Grace' },
      { action: 'queues.resume', outcome: 'denied', actorLabel: 'Vera' },
    ]);
    const second = await listAudit(viewer(), { limit: 2, cursor: first.older ?? '' });
    expect(second).toMatchObject({ events: [{ reason: 'the disk is full' }], older: null });

    const filter = { outcome: 'denied', subject: 'default', from: new Date(0) } as const;
    expect((await listAudit(viewer(), { filter })).events).toHaveLength(1);
    expect((await listAudit(viewer(), { filter: { to: new Date(0) } })).events).toEqual([]);
  });

  it('refuses the cursor of another list', async () => {
    for (const name of ['default', 'mail']) {
      await pauseQueue(operator(), { name, reason: 'a test' });
    }
    const { older } = await listAudit(viewer(), { limit: 1 });
    const other = { filter: { subjectKind: 'queue' }, cursor: older ?? '' };
    await expect(listAudit(viewer(), other)).rejects.toMatchObject({ code: 'invalid_cursor' });
  });
});
