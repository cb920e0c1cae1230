/** For the tests: checkouts in which jobs may be generated. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const COPIED = [
  'packages',
  'prisma',
  'tooling/gen-job',
  'tooling/lint',
  'tooling/typescript',
  '.oxlintrc.json',
  '.prettierignore',
  '.prettierrc.json',
  'package.json',
  'vitest.config.ts',
];

/** In a copy: compiles what is generated, and what it imports. */
export const DEFINITIONS_TSCONFIG = 'packages/jobs/tsconfig.definitions.json';

export interface Copy {
  readonly root: string;
  /** `packages/jobs/src/definitions` in it. */
  readonly definitions: string;
  /** Changes with every name and byte under `packages`. */
  checksum(): string;
  /** Runs a program of the copy, and throws its output when it fails. */
  passes(program: string, ...args: string[]): Promise<string>;
  remove(): void;
}

/** A copy of the packages and this generator with their dependencies, but without the folders of the jobs if so wished. */
export function copyRepository(options: { jobs?: boolean } = {}): Copy {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'millrace-gen-'));
  const definitions = join(root, 'packages', 'jobs', 'src', 'definitions');
  for (const path of COPIED) {
    cpSync(join(REPOSITORY, path), join(root, path), {
      recursive: true,
      filter: (source) => basename(source) !== 'node_modules' && basename(source) !== '.turbo',
    });
  }
  if (options.jobs === false) {
    for (const entry of readdirSync(definitions, { withFileTypes: true })) {
      if (entry.isDirectory()) rmSync(join(definitions, entry.name), { recursive: true });
    }
  }
  const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name));
  for (const folder of ['.', 'tooling/gen-job', ...packages]) linkDependencies(root, folder);
  writeFileSync(
    join(root, DEFINITIONS_TSCONFIG),
    JSON.stringify({ extends: './tsconfig.json', include: ['src/definitions', 'src/registry'] }),
  );
  return {
    root,
    definitions,
    checksum: () => checksum(join(root, 'packages')),
    passes: (program, ...args) => passes(root, program, args),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Dependencies are the real ones, packages of the repository the copied ones. */
function linkDependencies(root: string, folder: string): void {
  const real = join(REPOSITORY, folder, 'node_modules');
  if (!existsSync(real)) return;
  for (const name of readdirSync(real)) {
    if (name === '.vite' || name === '@millrace') continue;
    link(join(real, name), join(root, folder, 'node_modules', name));
  }
  const own = join(real, '@millrace');
  for (const name of existsSync(own) ? readdirSync(own) : []) {
    link(join(root, 'packages', name), join(root, folder, 'node_modules', '@millrace', name));
  }
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

function checksum(folder: string): string {
  const hash = createHash('sha256');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.parentPath.includes('node_modules'))
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const { entry, path } of entries) {
    hash.update(`${path}\0`);
    if (entry.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}

function passes(root: string, program: string, args: readonly string[]): Promise<string> {
  const command = ['--no-warnings', join(root, program), ...args];
  // A test run within one must not write its counts.
  const options = { cwd: root, env: { ...process.env, VITEST_JSON: '' } };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, command, options, (error, out, err) => {
      if (error) reject(new Error(`${program} ended with ${error.code}:\n${out}${err}`));
      else resolve(out + err);
    });
  });
}
