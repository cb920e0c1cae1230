import { describe, expect, it } from 'vitest';

import { runCursors } from './run-cursor.ts';

const KEY = Buffer.from('a key');
const ID = '01a22f44-e215-7d89-a5b9-f09bd6fb3020';
const older = { toward: 'older', id: ID } as const;

describe('runCursors', () => {
  it('reads what it wrote, whatever the order of the filter', () => {
    const cursor = runCursors(KEY, { state: 'failed', queue: 'mail' }).write(older);
    expect(runCursors(KEY, { queue: 'mail', state: 'failed' }).read(cursor)).toEqual(older);
    const newer = { toward: 'newer', id: ID } as const;
    expect(runCursors(KEY, {}).read(runCursors(KEY, {}).write(newer))).toEqual(newer);
    expect(cursor.length).toBeLessThanOrEqual(100);
  });

  it('refuses what was written for another filter or with another key', () => {
    const cursor = runCursors(KEY, { queue: 'mail' }).write(older);
    expect(() => runCursors(KEY, {}).read(cursor)).toThrow('another list');
    expect(() => runCursors(KEY, { queue: 'batch' }).read(cursor)).toThrow('another list');
    expect(() => runCursors(Buffer.from('b'), { queue: 'mail' }).read(cursor)).toThrow(
      'another list',
    );
  });

  it('refuses a cursor of which any character was changed', () => {
    const cursors = runCursors(KEY, {});
    const cursor = cursors.write(older);
    for (let at = 0; at < cursor.length; at++) {
      const other = cursor[at] === 'A' ? 'B' : 'A';
      const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expect(() => cursors.read(changed)).toThrow('another list');
    }
    for (const junk of ['', 'A', `${cursor}A`, cursor.slice(0, -1), '\0']) {
      expect(() => cursors.read(junk)).toThrow('another list');
    }
  });
});
