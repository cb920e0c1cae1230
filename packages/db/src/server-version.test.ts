import type pg from 'pg';
import { describe, expect, it } from 'vitest';

import { serverVersionFault } from './server-version.ts';

function serverOf(number: number): pg.ClientBase {
  return { query: () => Promise.resolve({ rows: [{ number }] }) } as unknown as pg.ClientBase;
}

describe('serverVersionFault', () => {
  it('finds none in the oldest version that is supported and in a newer one', async () => {
    expect(await serverVersionFault(serverOf(140_000))).toBeNull();
    expect(await serverVersionFault(serverOf(180_004))).toBeNull();
  });

  it('names the version it found and the one that is needed', async () => {
    expect(await serverVersionFault(serverOf(130_022))).toBe(
      'The database runs PostgreSQL 13; Millrace needs 14 or newer',
    );
  });
});
