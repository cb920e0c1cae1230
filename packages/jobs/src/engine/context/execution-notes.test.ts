import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { LogLine, ProgressNote } from '../sql/run-notes.ts';
import { ExecutionNotes, MAX_LINES } from './execution-notes.ts';
import type { NotesWriter } from './notes-writer.ts';

const SECRET = 'ann@example.org';
const subject = {
  runId: 'run-1',
  definition: 'mail.send',
  attempt: 1,
  execution: 2,
  requestId: 'r-1',
};

function open(flush: NotesWriter['flush'] = () => Promise.resolve()) {
  const lines: LogLine[] = [];
  const progress: ProgressNote[] = [];
  const notes = new ExecutionNotes(
    subject,
    {
      log: pino({ level: 'silent' }),
      notes: {
        addLine: (line) => lines.push(line) > 0,
        addProgress: (note) => progress.push(note),
        flush,
      },
    },
    () => [SECRET],
  );
  return { notes, lines, progress };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

describe('log lines', () => {
  it('are numbered and kept with their fields', () => {
    const { notes, lines } = open();
    notes.log.info({ sent: 1 }, 'first');
    notes.log.warn('second');
    const of = { runId: 'run-1', execution: 2, at: new Date() };
    expect(lines).toEqual([
      { ...of, seq: 1, level: 'info', message: 'first', fields: '{"sent":1}' },
      { ...of, seq: 2, level: 'warn', message: 'second', fields: null },
    ]);
  });

  it('are kept up to a limit, and the last one says so', () => {
    const { notes, lines } = open();
    for (let n = 0; n < MAX_LINES + 50; n++) notes.log.info('again');
    expect(lines).toHaveLength(MAX_LINES);
    expect(lines.at(-2)).toMatchObject({ level: 'info', message: 'again' });
    expect(lines.at(-1)).toMatchObject({ level: 'warn', message: expect.stringMatching(/up to/) });
  });

  it('are shortened, after the secrets have been removed', () => {
    const { notes, lines } = open();
    notes.log.info({ more: 'y'.repeat(10_000) }, `${'x'.repeat(8_185)}${SECRET}`);
    const [line] = lines as [LogLine];
    expect(line.message).toHaveLength(8_192);
    expect(line.message).toMatch(/x\[redact$/);
    expect(line.fields).toBe('{"dropped":"10011 characters"}');
  });

  it('are not kept after the end', async () => {
    const { notes, lines } = open();
    await notes.close();
    notes.log.info('too late');
    expect(lines).toEqual([]);
  });
});

describe('progress', () => {
  it('writes the first at once and the latest of those that follow', () => {
    const { notes, progress } = open();
    for (let done = 1; done <= 9; done++) notes.progress(done, 10, `at ${done}`);
    expect(progress.map(({ done }) => done)).toEqual([1]);
    vi.advanceTimersByTime(499);
    expect(progress).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(progress.map(({ done }) => done)).toEqual([1, 9]);
    expect(progress[1]).toEqual({ runId: 'run-1', execution: 2, done: 9, total: 10, note: 'at 9' });
    vi.advanceTimersByTime(5_000);
    expect(progress).toHaveLength(2);
  });

  it('writes the last word at the end, and nothing after it', async () => {
    const { notes, progress } = open();
    notes.progress(1);
    notes.progress(2);
    await notes.close();
    notes.progress(3);
    vi.advanceTimersByTime(5_000);
    expect(progress.map(({ done }) => done)).toEqual([1, 2]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('removes the secrets from its note and shortens it', () => {
    const { notes, progress } = open();
    notes.progress(1, undefined, `${'x'.repeat(190)} ${SECRET}\0`);
    expect(progress).toMatchObject([{ total: null, note: `${'x'.repeat(190)} [redacted` }]);
  });

  it.each([NaN, Infinity, '3' as unknown as number])('ignores %s', (done) => {
    const { notes, progress } = open();
    notes.progress(done);
    expect(progress).toEqual([]);
  });

  it.each([NaN, Infinity])('knows no total of %s', (total) => {
    const { notes, progress } = open();
    notes.progress(1, total);
    expect(progress).toMatchObject([{ done: 1, total: null }]);
  });
});

describe('the end', () => {
  it('waits until everything is stored', async () => {
    const stored = Promise.withResolvers<void>();
    const { notes } = open(() => stored.promise);
    let ended = false;
    void notes.close().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(900);
    expect(ended).toBe(false);
    stored.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits no longer than a second', async () => {
    const { notes } = open(() => new Promise(() => {}));
    let ended = false;
    void notes.close().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toBe(true);
  });
});
