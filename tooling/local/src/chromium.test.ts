import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findChromium, installedChromium } from './chromium.ts';

describe('findChromium', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'chromium-test-'))));
  afterEach(() => rmSync(folder, { recursive: true }));
  const program = (name: string): string => {
    const path = join(folder, name);
    writeFileSync(path, '');
    chmodSync(path, 0o755);
    return path;
  };

  it('takes the given one, and says when that is no program', async () => {
    const given = program('mine');
    program('chromium');
    expect(await findChromium(given, folder)).toBe(given);
    await expect(findChromium(join(folder, 'none'), folder)).rejects.toThrow('is no program');
    await expect(findChromium(folder, folder)).rejects.toThrow('is no program');
  });

  it('prefers Chromium to Chrome, wherever in PATH', () => {
    program('google-chrome');
    mkdirSync(join(folder, 'chromium'));
    expect(installedChromium(['', '/nowhere', folder].join(delimiter))).toBe(
      join(folder, 'google-chrome'),
    );
    const chromium = program('chromium-browser');
    expect(installedChromium(['', '/nowhere', folder].join(delimiter))).toBe(chromium);
  });
});
