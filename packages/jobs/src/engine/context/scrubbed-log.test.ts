import { pino } from 'pino';
import { describe, expect, it } from 'vitest';

import { secretsIn } from '../scrub.ts';
import { createScrubbedLog, type ScrubbedLine } from './scrubbed-log.ts';

const SECRET = 'ann@example.org';
const BINDINGS = { runId: 'run-1', definition: 'mail.send', requestId: 'r-1' };

function open({ level = 'info', secrets = [SECRET] as readonly string[] } = {}) {
  const written: Record<string, unknown>[] = [];
  const lines: ScrubbedLine[] = [];
  const parent = pino(
    { level, base: { process: 'worker', pid: 7 } },
    { write: (text) => written.push(JSON.parse(text) as Record<string, unknown>) },
  );
  const log = createScrubbedLog(
    parent,
    BINDINGS,
    () => secrets,
    (line) => lines.push(line),
  );
  return { log, parent, written, lines };
}

describe('a scrubbed log', () => {
  it('writes what was logged with what it was bound to, and hands on the rest', () => {
    const { log, written, lines } = open();
    log.info({ sent: 3, to: ['bob'] }, 'sent %d', 3);
    const message = { level: 30, process: 'worker', pid: 7, ...BINDINGS, sent: 3, msg: 'sent 3' };
    expect(written).toEqual([{ ...message, to: ['bob'], time: expect.any(Number) }]);
    expect(lines).toEqual([{ level: 'info', message: 'sent 3', fields: { sent: 3, to: ['bob'] } }]);
  });

  it.each([
    ['a message', (log) => log.info(`to ${SECRET}`)],
    ['a format', (log) => log.info('to %s, %j', SECRET, { to: SECRET })],
    ['fields', (log) => log.info({ a: { b: [SECRET, { [SECRET]: 1 }] }, [SECRET]: 2 })],
    ['an error', (log) => log.error(new Error(`550 ${SECRET}`, { cause: new Error(SECRET) }))],
    ['a field that names the run', (log) => log.info({ runId: SECRET, requestId: SECRET })],
    ['a child', (log) => log.child({ to: SECRET }).warn(SECRET)],
    ['a child of a child', (log) => log.child({ a: 1 }).child({ b: SECRET }).warn(SECRET)],
    ['later bindings', (log) => (log.setBindings({ to: SECRET }), log.info('x'))],
    ['a prefix', (log) => log.child({}, { msgPrefix: SECRET }).info('x')],
    ['what turns itself into text', (log) => log.info({ to: { toJSON: () => SECRET } })],
    ['JSON within text', (log) => log.info(JSON.stringify({ to: SECRET }))],
  ] satisfies [string, (log: ReturnType<typeof open>['log']) => void][])(
    'removes the secrets from %s',
    (_what, tell) => {
      const { log, written, lines } = open();
      tell(log);
      expect(lines).toHaveLength(1);
      expect(written).toHaveLength(1);
      expect(JSON.stringify([lines, written])).not.toContain('ann@');
    },
  );

  it('keeps the names of what it says of its own, whatever the arguments hold', () => {
    const secrets = secretsIn(['runId', 'level', 'time', 'requestId', 'run-1', 'definition']);
    const { log, written } = open({ secrets });
    log.info('requestId');
    expect(written).toMatchObject([{ level: 30, ...BINDINGS, msg: '[redacted]' }]);
    expect(written[0]).toHaveProperty('time');
  });

  it('hands on from info on what the process does not log', () => {
    const { log, written, lines } = open({ level: 'error' });
    log.debug('not at all');
    log.info('handed on');
    log.error('both');
    expect(lines.map(({ level }) => level)).toEqual(['info', 'error']);
    expect(written).toMatchObject([{ msg: 'both' }]);
  });

  it('hands on what a silent process does not log', () => {
    const { log, written, lines } = open({ level: 'silent' });
    log.fatal('handed on');
    expect([written, lines]).toMatchObject([[], [{ level: 'fatal' }]]);
  });

  it('hands on debug lines where they are logged', () => {
    const { log, lines } = open({ level: 'debug' });
    log.debug('told');
    expect(lines).toMatchObject([{ level: 'debug' }]);
  });

  it('leaves its parent alone', () => {
    const { parent, written, lines } = open();
    parent.info(SECRET);
    expect(written).toMatchObject([{ msg: SECRET }]);
    expect(lines).toEqual([]);
  });

  it('gives text that PostgreSQL can store', () => {
    const { log, lines } = open();
    log.info({ 'a\0': 'b\0\ud83d' }, 'c\0\ude00');
    expect(lines).toEqual([
      { level: 'info', message: 'c\uFFFD\uFFFD', fields: { 'a\uFFFD': 'b\uFFFD\uFFFD' } },
    ]);
  });
});
