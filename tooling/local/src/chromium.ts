import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { Fault, describeFault } from './fault.ts';
import { packagedChromium } from './packaged-chromium.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/**
 * The browser for end-to-end tests: the given one, that of the machine, or the headless one that an npm
 * package carries (Linux on x64 only). Throws a `Fault` when there is none.
 */
export async function findChromium(given: string | undefined, path: string): Promise<string> {
  if (given !== undefined) {
    if (!isProgram(given)) throw new Fault(`CHROMIUM_PATH (${given}) is no program`);
    return given;
  }
  return installedChromium(path) ?? unpackedChromium();
}

/** The first one in the folders of PATH. */
export function installedChromium(path: string): string | null {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...candidates, MAC].find(isProgram) ?? null;
}

async function unpackedChromium(): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Fault('no Chromium: install one or set CHROMIUM_PATH');
  }
  try {
    return await packagedChromium();
  } catch (error) {
    throw new Fault(`no Chromium: install one or set CHROMIUM_PATH (${describeFault(error)})`);
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
