import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { takeLock } from './lock-file.ts';

const GONE = 2 ** 22 + 1;

describe('takeLock', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lock-'));
    path = join(folder, 'start.lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('holds the process id until it is given back', () => {
    const release = takeLock(path, 'program');
    expect(readFileSync(path, 'utf8')).toBe(`${process.pid}\n`);
    release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses while the program of the holder runs', () => {
    takeLock(path, 'program', process.ppid);
    expect(() => takeLock(path, '')).toThrow(
      `already running on this data directory (pid ${process.ppid}`,
    );
    expect(readdirSync(folder)).toEqual(['start.lock']);
  });

  it.each([
    ['a process that is gone', `${GONE}\n`],
    ['a process that is another program by now', `${process.ppid}\n`],
    ['nobody', ''],
  ])('is taken over from %s', (_holder, content) => {
    writeFileSync(path, content);
    takeLock(path, 'a program that does not run')();
    expect(existsSync(path)).toBe(false);
  });

  it('leaves a lock alone that another has taken over', () => {
    const release = takeLock(path, 'program');
    writeFileSync(path, '1\n');
    release();
    expect(existsSync(path)).toBe(true);
  });
});
