import { describe, expect, it } from 'vitest';

import { queueHealth } from './queue-health.ts';

const idle = { paused: false, workers: 1, due: 0, running: 0, limit: 10, oldestWaitMs: null };

describe('queueHealth', () => {
  it.each([
    ['idle', {}],
    ['active', { running: 1 }],
    ['active', { due: 3, oldestWaitMs: 200 }],
    ['at capacity', { running: 10 }],
    ['at capacity', { running: 10, due: 5, oldestWaitMs: 2_000 }],
    ['backlogged', { running: 10, due: 5, oldestWaitMs: 31_000 }],
    ['backlogged', { running: 2, due: 5, oldestWaitMs: 31_000 }],
    ['no workers', { workers: 0, due: 5, oldestWaitMs: 31_000 }],
    ['no workers', { workers: 0, limit: 0 }],
    ['paused', { paused: true, workers: 0, due: 5 }],
    ['paused', { paused: true, running: 10 }],
  ] as const)('is %s with %j', (health, facts) => {
    expect(queueHealth({ ...idle, ...facts })).toBe(health);
  });
});
