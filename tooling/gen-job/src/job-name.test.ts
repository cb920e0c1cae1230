import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { IGNORED_FOLDERS, parseJobName, TEMPLATE_NAMES } from './job-name.ts';
import { sourcesOf } from './render-job.ts';

describe('parseJobName', () => {
  it.each([
    ['CleanupSessions', 'cleanup_sessions', 'cleanup-sessions', 'cleanupSessions'],
    ['cleanupSessions', 'cleanup_sessions', 'cleanup-sessions', 'cleanupSessions'],
    ['cleanup_sessions', 'cleanup_sessions', 'cleanup-sessions', 'cleanupSessions'],
    ['cleanup-sessions', 'cleanup_sessions', 'cleanup-sessions', 'cleanupSessions'],
    ['CLEANUP_SESSIONS', 'cleanup_sessions', 'cleanup-sessions', 'cleanupSessions'],
    ['HTTPServerCheck', 'http_server_check', 'http-server-check', 'httpServerCheck'],
    ['Sync2FA', 'sync2_fa', 'sync2-fa', 'sync2Fa'],
    ['sync-2-fa', 'sync_2_fa', 'sync-2-fa', 'sync2Fa'],
    ['Heartbeat', 'heartbeat', 'heartbeat', 'heartbeat'],
    ['ab', 'ab', 'ab', 'ab'],
  ])('spells %s', (text, name, folder, variable) => {
    expect(parseJobName(text)).toEqual({ name, folder, variable });
  });

  it('takes names of up to 63 characters', () => {
    expect(parseJobName('a'.repeat(63)).name).toHaveLength(63);
    expect(() => parseJobName('a'.repeat(64))).toThrow('64 characters: write one of 2 to 63');
    expect(() => parseJobName('A')).toThrow('write one of 2 to 63');
  });

  it.each([
    ['Café', 'write Cafe'],
    ['Clean up sessions', 'write CleanUpSessions'],
    ['mail.send', 'write MailSend'],
    ['../cleanup', 'write Cleanup'],
    ['jobs/cleanup', 'write JobsCleanup'],
    ['2fa_sync', 'write FaSync'],
    ['_sync', 'write Sync'],
    ['sync__all', 'write SyncAll'],
    ['', 'write one such as CleanupSessions'],
    ['задача', 'write one such as CleanupSessions'],
    ['../x', 'write one such as CleanupSessions'],
    ['.delete', 'write one such as CleanupSessions'],
  ])('refuses %j and says what to write', (text, instead) => {
    expect(() => parseJobName(text)).toThrow(instead);
  });

  it.each(['default', 'Class', 'delete', 'NEW', 'GlobalThis', 'handler', 'DefineJob'])(
    'refuses the reserved word %s',
    (word) => {
      expect(() => parseJobName(word)).toThrow(/word of TypeScript .* write \w+Job$/);
    },
  );

  it('refuses a name whose folder git would not see', () => {
    expect(() => parseJobName('TestResults')).toThrow('pass over: write TestResultsJob');
    const gitignore = readFileSync(join(import.meta.dirname, '../../../.gitignore'), 'utf8');
    const anywhere = [...gitignore.matchAll(/^([a-z-]+)\/$/gm)].map(([, folder]) => folder!);
    expect(anywhere).not.toEqual([]);
    expect(IGNORED_FOLDERS).toEqual(expect.arrayContaining(anywhere));
  });

  it('shows a hostile name on one line', () => {
    const message = (() => {
      try {
        return parseJobName(`a\n\u001b[31m\u202e${'x'.repeat(500)}`).name;
      } catch (error) {
        return (error as Error).message;
      }
    })();
    expect(message).not.toMatch(/\p{C}/u);
    expect(message.length).toBeLessThan(250);
  });

  it.each(['queued', 'inline'] as const)('reserves what the files of a %s job declare', (form) => {
    const plan = { name: 'x_y', folder: 'x-y', variable: 'xY', form };
    const declared = [...sourcesOf(plan).values()].flatMap((source) => [
      ...[...source.matchAll(/^import \{ ([^}]+) \}/gm)].flatMap(([, names]) => names!.split(', ')),
      ...[...source.matchAll(/^(?:export )?const (\w+)/gm)].map(([, name]) => name!),
      ...[...source.matchAll(/^ +const (\w+) = .*xY/gm)].map(([, name]) => name!),
    ]);
    // One letter is no name of a job.
    const names = declared.filter((name) => name !== 'xY' && name.length > 1);
    expect(names).toContain('handler');
    expect(TEMPLATE_NAMES).toEqual(expect.arrayContaining(names));
  });
});
