import { useDatabase } from '@millrace/db/testing';
import { describe, expect, it } from 'vitest';

import { performJob } from '../../testing/perform-job.ts';
import { heartbeat } from './definition.ts';
import { handler } from './handler.ts';

const database = useDatabase();

describe('heartbeat', () => {
  it('reports the round trip and the clocks’ difference in milliseconds', async () => {
    const result = await performJob(heartbeat, handler, {}, { db: database.db });
    expect(result).toEqual({ roundTripMs: expect.any(Number), clockSkewMs: expect.any(Number) });
    expect(Object.values(result as object).every(Number.isSafeInteger)).toBe(true);
  });
});
