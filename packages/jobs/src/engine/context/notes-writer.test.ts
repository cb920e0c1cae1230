import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { LogLine } from '../sql/run-notes.ts';
import { createNotesWriter } from './notes-writer.ts';

const line = (seq: number, more: Partial<LogLine> = {}): LogLine => ({
  runId: 'run-1',
  execution: 1,
  seq,
  at: new Date(0),
  level: 'info',
  message: 'told',
  fields: null,
  ...more,
});
const lost = Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' });

function open(answer: (n: number) => Promise<unknown> = () => Promise.resolve()) {
  const queries: { name: string; values: unknown[][] }[] = [];
  const logged: string[] = [];
  const query = (statement: { name: string; values: unknown[][] }): Promise<unknown> =>
    answer(queries.push(statement));
  const log = pino({ level: 'info' }, { write: (text) => logged.push(text) });
  const writer = createNotesWriter({ pool: { query: query as never }, log });
  const seqs = (): unknown[] => queries.map(({ values }) => values[2]);
  return { writer, queries, logged, seqs };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

describe('a writer of notes', () => {
  it('writes what comes within a moment together, and nothing while nothing comes', async () => {
    const { writer, seqs } = open();
    writer.addLine(line(1));
    await vi.advanceTimersByTimeAsync(50);
    writer.addLine(line(2));
    expect(seqs()).toEqual([]);
    await vi.advanceTimersByTimeAsync(50);
    expect(seqs()).toEqual([[1, 2]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('writes at once when asked, what comes meanwhile with the next statement', async () => {
    const first = Promise.withResolvers<unknown>();
    const { writer, seqs } = open((n) => (n === 1 ? first.promise : Promise.resolve()));
    writer.addLine(line(1));
    const flushed = [writer.flush()];
    writer.addLine(line(2));
    writer.addLine(line(3));
    const ended: number[] = [];
    flushed.push(writer.flush());
    flushed.forEach((each, index) => void each.then(() => ended.push(index)));
    await vi.advanceTimersByTimeAsync(0);
    expect([seqs(), ended]).toEqual([[[1]], []]);
    first.resolve({});
    await vi.advanceTimersByTimeAsync(0);
    expect([seqs(), ended]).toEqual([
      [[1], [2, 3]],
      [0, 1],
    ]);
  });

  it('has nothing to flush while nothing waits', async () => {
    const { writer, queries } = open();
    await writer.flush();
    expect(queries).toEqual([]);
  });

  it('splits what is too much for one statement', async () => {
    const { writer, seqs } = open();
    for (let seq = 1; seq <= 2_500; seq++) writer.addLine(line(seq));
    await writer.flush();
    expect(seqs().map((each) => (each as unknown[]).length)).toEqual([1_000, 1_000, 500]);
  });

  it('writes the latest progress of each run, sorted', async () => {
    const { writer, queries } = open();
    const note = { execution: 1, total: null, note: null };
    writer.addProgress({ ...note, runId: 'b', done: 1 });
    writer.addProgress({ ...note, runId: 'a', done: 2 });
    writer.addProgress({ ...note, runId: 'b', done: 3 });
    await writer.flush();
    expect(queries.map(({ values }) => [values[0], values[2]])).toEqual([
      [
        ['a', 'b'],
        [2, 3],
      ],
    ]);
  });

  it('tries again after a broken connection', async () => {
    const { writer, seqs, logged } = open((n) =>
      n < 3 ? Promise.reject(lost) : Promise.resolve(),
    );
    writer.addLine(line(1));
    const flushed = writer.flush();
    await vi.advanceTimersByTimeAsync(1_000);
    await flushed;
    expect([seqs(), logged]).toEqual([[[1], [1], [1]], []]);
  });

  it('gives up what cannot be stored, says so once a minute, and goes on', async () => {
    const { writer, queries, logged } = open(() => Promise.reject(new Error('no')));
    for (let seq = 1; seq <= 3; seq++) {
      writer.addLine(line(seq));
      await writer.flush();
    }
    expect([queries.length, logged.length]).toEqual([3, 1]);
    await vi.advanceTimersByTimeAsync(60_000);
    writer.addLine(line(4));
    await writer.flush();
    expect(logged).toHaveLength(2);
  });

  it('takes no more than memory allows while the database is away', async () => {
    const { writer, logged } = open(() => new Promise(() => {}));
    const big = 'x'.repeat(8_000);
    let taken = 0;
    while (writer.addLine(line(taken + 1, { message: big }))) taken++;
    expect(taken).toBeGreaterThan(900);
    expect(taken).toBeLessThan(1_001);
    expect(logged).toHaveLength(1);
  });
});
