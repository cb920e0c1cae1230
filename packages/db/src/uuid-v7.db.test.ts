import { describe, expect, it } from 'vitest';

import { useDatabase } from './testing.ts';

describe('millrace.uuid_v7', () => {
  const database = useDatabase();

  it('makes version 7 of now, in the order in which they are made, none twice', async () => {
    const { rows } = await database.pool.query<{ id: string; now: number }>(
      `select millrace.uuid_v7()::text as id, extract(epoch from clock_timestamp())::float8 * 1000 as now
         from generate_series(1, 5000)`,
    );
    const ids = rows.map(({ id }) => id);
    expect(
      ids.every((id) =>
        /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(id),
      ),
    ).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    const off = rows.map(
      ({ id, now }) => now - Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16),
    );
    expect(Math.max(...off.map(Math.abs))).toBeLessThan(50);
    // Up to the microsecond in which they were made.
    const times = ids.map((id) => id.slice(0, 18));
    expect(times).toEqual(times.toSorted());
    expect(new Set(times).size).toBeGreaterThan(500);
  });
});
