import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { createRegistry } from '@millrace/jobs/registry/create-registry';

import { type Installation, loadDefinitions } from './installation.ts';
import type { JobPlan } from './plan-job.ts';
import { Refusal } from './refusal.ts';
import type { JobFiles } from './render-job.ts';

/**
 * Puts the folder in its place and registers it, or changes nothing: the files are written elsewhere and
 * loaded from there, a rename makes the folder, and it is taken away again when the registry refuses it.
 */
export async function writeJob(
  plan: JobPlan,
  files: JobFiles,
  installation: Installation,
): Promise<void> {
  const { jobs } = installation;
  const folder = join(jobs, 'definitions', plan.folder);
  // As deep as definitions/, so that the imports of its files lead to where they will lead.
  const stage = await mkdtemp(join(jobs, '.gen-job-'));
  const release = holdSignals();
  try {
    await writeFiles(join(stage, plan.folder), files);
    await checkStaged(join(stage, plan.folder), installation);
    await moveInto(join(stage, plan.folder), folder);
    await register(jobs, folder);
  } finally {
    await rm(stage, { recursive: true, force: true });
    release();
  }
}

/** A Ctrl-C between the first file and the last would leave half a job. */
function holdSignals(): () => void {
  const wait = (): void => undefined;
  process.on('SIGINT', wait).on('SIGTERM', wait);
  return () => void process.off('SIGINT', wait).off('SIGTERM', wait);
}

async function writeFiles(folder: string, files: JobFiles): Promise<void> {
  for (const [file, text] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
}

/** `defineJob` and the registry have the last word about what they accept. */
async function checkStaged(
  staged: string,
  { jobs, definitions, queues }: Installation,
): Promise<void> {
  const added = await loadDefinitions(jobs, staged.slice(jobs.length + 1));
  try {
    createRegistry({ definitions: [...definitions, ...added], queues });
  } catch (error) {
    throw new Refusal(String((error as Error).message));
  }
}

async function moveInto(staged: string, folder: string): Promise<void> {
  try {
    await rename(staged, folder);
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY';
    throw taken ? new Refusal(`${folder} exists already: write another name`) : error;
  }
}

/** Runs the checkout's own generator; puts everything back when it fails. */
async function register(jobs: string, folder: string): Promise<void> {
  const registry = join(jobs, 'registry');
  const before = await generatedFiles(registry);
  const fault = await generate(join(registry, 'generate.ts'));
  if (fault === null) return;
  await rm(folder, { recursive: true });
  for (const file of (await generatedFiles(registry)).keys()) {
    if (!before.has(file)) await rm(join(registry, file));
  }
  for (const [file, text] of before) await writeFile(join(registry, file), text);
  throw new Refusal(`the registry cannot be generated, mend it first: ${fault}`);
}

async function generatedFiles(registry: string): Promise<Map<string, string>> {
  const names = (await readdir(registry)).filter((name) => name.endsWith('.gen.ts'));
  const texts = names.map((name) => readFile(join(registry, name), 'utf8'));
  const read = await Promise.all(texts);
  return new Map(names.map((name, index) => [name, read[index] ?? '']));
}

/** Null, or its error in one line. */
function generate(program: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--no-warnings', program], (error, _stdout, stderr) => {
      const said = /^(?:\w*Error): (.+)$/m.exec(stderr)?.[1];
      resolve(error ? (said ?? `${program} ended with ${error.code ?? error.signal}`) : null);
    });
  });
}
