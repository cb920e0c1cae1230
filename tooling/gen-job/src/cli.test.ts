import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { runCli } from './cli.ts';
import { type Copy, copyRepository } from './copy-repository.ts';

// Each job that is made starts the registry's generator.
vi.setConfig({ testTimeout: 20_000, hookTimeout: 20_000 });

const DEFINITIONS = join(import.meta.dirname, '../../../packages/jobs/src/definitions');

/** Texts of a folder by path. */
function textsIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
}

async function gen(copy: Copy, ...args: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runCli(args, {
    root: copy.root,
    print: (text) => void printed.push(text),
    complain: (line) => void complained.push(line),
    terminal: null,
  });
  return { code, printed: printed.join(''), complained };
}

describe('pnpm gen job Heartbeat', () => {
  let copy: Copy;
  beforeAll(() => (copy = copyRepository({ jobs: false })));
  afterAll(() => copy.remove());

  it('reproduces the folder of heartbeat', async () => {
    const flags = ['--every', '1m', '--timeout', '30s', '--max-attempts', '1'];
    expect(await gen(copy, 'job', 'Heartbeat', ...flags)).toMatchObject({
      code: 0,
      complained: [],
    });
    expect(readdirSync(copy.definitions).toSorted()).toEqual(['heartbeat', 'queues.ts']);
    expect(textsIn(join(copy.definitions, 'heartbeat'))).toEqual(
      textsIn(join(DEFINITIONS, 'heartbeat')),
    );
  });
});

describe('pnpm gen job', () => {
  let copy: Copy;
  beforeAll(() => (copy = copyRepository()));
  afterAll(() => copy.remove());
  const definitionOf = (folder: string): string =>
    readFileSync(join(copy.definitions, folder, 'definition.ts'), 'utf8');

  it('writes what was asked for and leaves the rest to the defaults', async () => {
    const { printed } = await gen(copy, 'job', 'NightlyReport', '--cron', '0  3 * * MON');
    expect(printed).toContain('packages/jobs/src/definitions/nightly-report/handler.ts');
    expect(definitionOf('nightly-report')).toContain("schedule: '0 3 * * MON',");
    expect(definitionOf('nightly-report')).not.toMatch(/queue:|timeout:|maxAttempts:/);

    await gen(copy, 'job', 'plain_one', '--queue', 'batch', '--max-attempts', '100');
    expect(definitionOf('plain-one')).toMatch(/queue: 'batch',\n {2}maxAttempts: 100,\n\}\);/);
  });

  it('registers it, with its handler where it runs', async () => {
    await gen(copy, 'job', 'ShortCheck', '--inline', '--timeout', '2s');
    await gen(copy, 'job', 'LongCheck');
    const registry = textsIn(join(copy.root, 'packages/jobs/src/registry'));
    expect(registry['definitions.gen.ts']).toMatch(/\n {2}longCheck,[^]*\n {2}shortCheck,/);
    expect(registry['inline-handlers.gen.ts']).toContain("'short_check'");
    expect(registry['handlers.gen.ts']).toContain("'long_check'");
    expect(registry['handlers.gen.ts']).not.toContain('short_check');
  });

  it('leaves nothing behind beside them', () => {
    const source = readdirSync(join(copy.root, 'packages/jobs/src'));
    expect(source.filter((name) => name.startsWith('.'))).toEqual([]);
  });

  describe('refuses, and changes nothing:', () => {
    beforeAll(() => {
      const write = (folder: string, text: string): void => {
        mkdirSync(join(copy.definitions, folder));
        writeFileSync(join(copy.definitions, folder, 'definition.ts'), text);
        writeFileSync(join(copy.definitions, folder, 'handler.ts'), 'export const handler = 0;\n');
      };
      const definition = (name: string, variable: string): string => `
        import { z } from 'zod';
        import { defineJob } from '../../authoring/define-job.ts';
        export const ${variable} = defineJob({
          name: '${name}',
          description: 'Sends.',
          args: z.object({}),
          formerNames: ['former_${name}'],
        });`;
      write('send-mail', definition('mail_send', 'sendMail'));
      write('sync-2', definition('sync_2', 'sync2'));
    });

    const a63 = 'a'.repeat(63);
    it.each<[string, string[], string]>([
      ['nothing to generate', [], 'say what to generate: write pnpm gen job'],
      ['an unknown thing', ['jobs', 'Foo'], "unknown command 'jobs': write pnpm gen job"],
      ['no name', ['job'], 'a name is missing: write pnpm gen job CleanupSessions'],
      ['an empty name', ['job', ''], 'is not a job name'],
      ['a reserved word', ['job', 'default'], 'write DefaultJob'],
      ['another reserved word', ['job', 'Class'], 'write ClassJob'],
      ['a word of the templates', ['job', 'Handler'], 'write HandlerJob'],
      ['a name of one letter', ['job', 'X'], 'write one of 2 to 63'],
      ['a long name', ['job', `${a63}b`], 'write one of 2 to 63'],
      ['unicode', ['job', 'Größe'], 'is not a job name'],
      ['a path', ['job', '../x'], 'is not a job name'],
      ['an absolute path', ['job', '/tmp/cleanup'], 'write TmpCleanup'],
      ['a blank', ['job', 'two words'], 'write TwoWords'],
      ['an existing job', ['job', 'Heartbeat'], 'definitions/heartbeat exists already'],
      ['an existing job in another spelling', ['job', 'REINDEX_RUNS'], 'exists already'],
      ['the name of another folder', ['job', 'mail-send'], 'there is a definition mail_send'],
      ['the folder of another name', ['job', 'SendMail'], 'definitions/send-mail exists already'],
      ['a former name', ['job', 'FormerMailSend'], 'is a former name of mail_send'],
      ['a name with the same export', ['job', 'sync2'], 'definitions/sync-2 exports sync2 already'],
      ['two names', ['job', 'One', 'Two'], 'write one name'],
      ['two clocks', ['job', 'Foo', '--cron', '0 3 * * *', '--every', '1h'], 'exclude each other'],
      ['a cron of four fields', ['job', 'Foo', '--cron', '0 3 * *'], 'write five cron fields'],
      ['a cron of six fields', ['job', 'Foo', '--cron', '0 0 3 * * *'], 'write five cron fields'],
      ['a cron out of range', ['job', 'Foo', '--cron', '61 * * * *'], 'is not a cron expression'],
      ['a date that never comes', ['job', 'Foo', '--cron', '0 0 30 2 *'], 'not a cron expression'],
      ['an unquoted cron', ['job', 'Foo', '--cron', '0', '3', 'a.ts'], 'quote the cron expression'],
      ['a cron that is none', ['job', 'Foo', '--cron', '@every 5m'], 'write --every 15m'],
      ['an empty cron', ['job', 'Foo', '--cron', ''], 'write five cron fields'],
      ['half a minute', ['job', 'Foo', '--every', '30s'], 'must be 1m to 366 days'],
      ['a distance without a unit', ['job', 'Foo', '--every', '15'], 'write 250ms, 30s, 15m or 2h'],
      ['an unknown queue', ['job', 'Foo', '--queue', 'slow'], 'write default, batch, mail'],
      ['a queue of the prototype', ['job', 'Foo', '--queue', 'constructor'], 'is not declared'],
      ['a timeout of a day and more', ['job', 'Foo', '--timeout', '25h'], 'write 1s to 24h'],
      ['a timeout below a second', ['job', 'Foo', '--timeout', '999ms'], 'write 1s to 24h'],
      ['a timeout that is none', ['job', 'Foo', '--timeout', '--inline'], 'is not a duration'],
      ['no attempts', ['job', 'Foo', '--max-attempts', '0'], 'write a number from 1 to 100'],
      ['101 attempts', ['job', 'Foo', '--max-attempts', '101'], 'write a number from 1 to 100'],
      ['half an attempt', ['job', 'Foo', '--max-attempts', '1.5'], 'a number from 1 to 100'],
      ['inline with a cron', ['job', 'Foo', '--inline', '--cron', '0 3 * * *'], 'leave out --cron'],
      ['inline with a queue', ['job', 'Foo', '--inline', '--queue', 'mail'], 'leave out --queue'],
      ['inline with attempts', ['job', 'Foo', '--inline', '--max-attempts=2'], '--max-attempts'],
      ['a long inline job', ['job', 'Foo', '--inline', '--timeout', '11s'], 'write 10s or less'],
      ['an unknown flag', ['job', 'Foo', '--quue', 'mail'], "unknown option '--quue'"],
      ['a flag without its value', ['job', 'Foo', '--queue'], "'--queue <name>' argument missing"],
      ['a flag twice', ['job', 'Foo', '--every', '1h', '--every', '2h'], 'Write it once'],
    ])('%s', async (_what, args, said) => {
      const before = copy.checksum();
      const { code, printed, complained } = await gen(copy, ...args);
      expect({ code, printed }).toEqual({ code: 1, printed: '' });
      expect(complained).toHaveLength(1);
      expect(complained[0]).toContain(said);
      expect(complained[0]).toMatch(/^gen: [^\n]+$/);
      expect(copy.checksum()).toBe(before);
    });

    it('in a folder that is no checkout', async () => {
      const nowhere = { ...copy, root: join(copy.root, 'nowhere') };
      const { code, complained } = await gen(nowhere, 'job', 'Foo');
      expect(code).toBe(1);
      expect(complained).toEqual([expect.stringMatching(/^gen: ENOENT[^\n]+$/)]);
    });

    it('lists all faults of one request', async () => {
      const { complained } = await gen(copy, 'job', 'Foo', '--timeout', '0s', '--queue', 'slow');
      expect(complained[0]).toMatch(/--queue .*; --timeout /);
    });

    it('when the registry cannot be generated', async () => {
      const unfinished = join(copy.definitions, 'unfinished');
      mkdirSync(unfinished);
      writeFileSync(join(unfinished, 'definition.ts'), 'export const unfinished = 1;\n');
      const before = copy.checksum();
      const { code, complained } = await gen(copy, 'job', 'Fine');
      expect(code).toBe(1);
      expect(complained[0]).toMatch(/^gen: the registry cannot be generated, .*unfinished/);
      expect(copy.checksum()).toBe(before);
      rmSync(unfinished, { recursive: true });
      expect(existsSync(join(copy.definitions, 'fine'))).toBe(false);
    });

    it('when a definition cannot be loaded', async () => {
      const broken = join(copy.definitions, 'broken');
      mkdirSync(broken);
      writeFileSync(join(broken, 'definition.ts'), "throw new Error('not yet');\n");
      const before = copy.checksum();
      const { code, complained } = await gen(copy, 'job', 'Fine');
      expect(code).toBe(1);
      expect(complained[0]).toContain(
        'broken/definition.ts cannot be loaded, mend it first: not yet',
      );
      expect(copy.checksum()).toBe(before);
      rmSync(broken, { recursive: true });
    });
  });
});
