import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { askForJob } from './ask.ts';
import type { Installation } from './installation.ts';
import type { JobRequest } from './plan-job.ts';
import { Refusal } from './refusal.ts';

const ENTER = '\r';
const DOWN = '\u001b[B';
const CTRL_C = '\u0003';

const installation: Installation = {
  jobs: '/nowhere',
  taken: ['heartbeat'],
  definitions: [],
  queues: { default: { concurrency: 1, prefetch: 0 }, batch: { concurrency: 1, prefetch: 0 } },
};

/** Answers question by question: each is typed when its words have appeared. */
async function answering(
  given: Partial<JobRequest>,
  ...answers: readonly (readonly [question: string, ...keys: string[]])[]
): Promise<{ request: JobRequest; shown: string }> {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  let unread = '';
  const waiting = [...answers];
  output.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    unread += chunk.toString();
    const next = waiting[0];
    if (!next || !unread.includes(next[0])) return;
    waiting.shift();
    unread = '';
    // After the question has been drawn.
    setImmediate(() => {
      for (const key of next.slice(1)) input.write(key);
    });
  });
  const request = await askForJob(given, installation, { input, output });
  expect(waiting).toEqual([]);
  return { request, shown };
}

describe('askForJob', () => {
  it('takes what is proposed', async () => {
    const { request } = await answering(
      {},
      ['Name of the job', 'SendReport', ENTER],
      ['What starts it?', ENTER],
      ['Queue', ENTER],
      ['Timeout', ENTER],
      ['Attempts', ENTER],
    );
    expect(request).toEqual({
      name: 'SendReport',
      queue: 'default',
      timeout: '5m',
      maxAttempts: '3',
    });
  });

  it('asks for no more than an inline job has', async () => {
    const { request } = await answering(
      {},
      ['Name of the job', 'SweepCarts', ENTER],
      ['What starts it?', DOWN, DOWN, DOWN, ENTER],
    );
    expect(request).toEqual({ name: 'SweepCarts', inline: true });
  });

  it('asks again for what is refused, and leaves out what the flags say', async () => {
    const { request, shown } = await answering(
      { every: '1h', timeout: '10m', maxAttempts: '2' },
      ['Name of the job', 'Heartbeat', ENTER],
      ['exists already', '2', ENTER],
      ['Queue', DOWN, ENTER],
    );
    expect(shown).not.toContain('What starts it?');
    expect(request).toMatchObject({ name: 'Heartbeat2', every: '1h', queue: 'batch' });
  });

  it('ends at Ctrl-C', async () => {
    await expect(answering({}, ['Name of the job', CTRL_C])).rejects.toThrow(Refusal);
  });
});
