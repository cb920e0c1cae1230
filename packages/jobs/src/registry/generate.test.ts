import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

interface Ended {
  readonly code: number;
  readonly stderr: string;
}

const generate = (program: string, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['--no-warnings', program, ...args], (error, _stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stderr }),
    );
  });

describe('generate --check', () => {
  it('finds the committed files current', async () => {
    const program = join(import.meta.dirname, 'generate.ts');
    expect(await generate(program, '--check')).toEqual({ code: 0, stderr: '' });
  });
});

describe('generate', () => {
  let root: string;
  let program: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'millrace-generate-'));
    mkdirSync(join(root, 'registry'));
    program = join(root, 'registry', 'generate.mts');
    cpSync(join(import.meta.dirname, 'generate.ts'), program);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (path: string, text: string): void => {
    mkdirSync(join(root, 'definitions', path, '..'), { recursive: true });
    writeFileSync(join(root, 'definitions', path), text);
  };
  const job = (folder: string, source: string): void => {
    write(`${folder}/definition.ts`, source);
    write(`${folder}/handler.ts`, '');
  };
  const generated = (file: string): string => readFileSync(join(root, 'registry', file), 'utf8');

  it('lists every folder and sorts handlers by their form', async () => {
    write('queues.ts', '');
    job('send-mail', `export const sendMail = defineJob({\n  name: 'mail.send',\n});`);
    job('a-sweep', `export const aSweep = defineInlineJob({ name: 'sweep' });`);
    expect(await generate(program)).toEqual({ code: 0, stderr: '' });

    expect(generated('definitions.gen.ts')).toMatch(/aSweep,\n {2}sendMail,/);
    expect(generated('handlers.gen.ts')).toContain(`'mail.send': `);
    expect(generated('handlers.gen.ts')).not.toContain('sweep');
    expect(generated('inline-handlers.gen.ts')).toContain(`'sweep': `);
    expect(await generate(program, '--check')).toEqual({ code: 0, stderr: '' });
  });

  it('says which file is not current when it checks, and writes nothing', async () => {
    job('one', `export const one = defineJob({ name: 'one' });`);
    await generate(program);
    job('two', `export const two = defineJob({ name: 'two' });`);
    const before = generated('handlers.gen.ts');

    const { code, stderr } = await generate(program, '--check');
    expect(code).toBe(1);
    expect(stderr).toContain('definitions.gen.ts is not current');
    expect(stderr).toContain('handlers.gen.ts is not current');
    expect(stderr).not.toContain('inline-handlers.gen.ts');
    expect(generated('handlers.gen.ts')).toBe(before);
  });

  it.each([
    ['without a definition', (): void => write('empty/handler.ts', '')],
    [
      'whose definition has another name',
      (): void => job('empty', `export const other = defineJob({ name: 'x' });`),
    ],
    [
      'whose definition names itself by an expression',
      (): void => job('empty', 'export const empty = defineJob({ name });'),
    ],
  ])('refuses a folder %s', async (_what, prepare) => {
    prepare();
    const { code, stderr } = await generate(program);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'definitions/empty/definition.ts must export const empty = defineJob(',
    );
  });

  it('refuses a folder without a handler', async () => {
    write('empty/definition.ts', `export const empty = defineJob({ name: 'empty' });`);
    const { code, stderr } = await generate(program);
    expect(code).toBe(1);
    expect(stderr).toContain('definitions/empty/handler.ts is missing');
  });
});
