import { describe, expect, it } from 'vitest';

import { ExecutionGate } from './execution-gate.ts';

/** Whether it has resolved once everything that can happen has happened. */
async function hasHappened(promise: Promise<unknown> | undefined): Promise<boolean> {
  if (!promise) return true;
  let happened = false;
  void promise.then(() => (happened = true));
  for (let tick = 0; tick < 10; tick++) await Promise.resolve();
  return happened;
}

describe('enter', () => {
  it('lets everybody in at once while nobody wants to be alone', () => {
    const gate = new ExecutionGate();
    expect([gate.enter(), gate.enter(), gate.enter()]).toEqual([undefined, undefined, undefined]);
    expect(gate.clearing).toBe(false);
  });

  it('keeps everybody out until the one that is alone has ended', async () => {
    const gate = new ExecutionGate();
    await gate.enter();
    expect(await gate.becomeAlone(60_000)).toBe('alone');
    const waiting = [gate.enter(), gate.enter()];
    expect(await hasHappened(waiting[0])).toBe(false);
    gate.endAlone();
    expect(await hasHappened(waiting[0])).toBe(true);
    expect(await hasHappened(waiting[1])).toBe(true);
    expect(gate.enter()).toBeUndefined();
  });
});

describe('becomeAlone', () => {
  it('waits for the others to leave', async () => {
    const gate = new ExecutionGate();
    for (let holder = 0; holder < 3; holder++) await gate.enter();
    const alone = gate.becomeAlone(60_000);
    expect(gate.clearing).toBe(true);
    gate.leave();
    expect(await hasHappened(alone)).toBe(false);
    gate.leave();
    expect(await alone).toBe('alone');
  });

  it('is refused while another waits to be, so that both do not wait for ever', async () => {
    const gate = new ExecutionGate();
    await gate.enter();
    await gate.enter();
    const first = gate.becomeAlone(60_000);
    expect(await gate.becomeAlone(60_000)).toBe('taken');
    gate.leave();
    expect(await first).toBe('alone');
  });

  it('can be had again after the end', async () => {
    const gate = new ExecutionGate();
    await gate.enter();
    for (let round = 0; round < 3; round++) {
      expect(await gate.becomeAlone(60_000)).toBe('alone');
      gate.endAlone();
      expect(gate.clearing).toBe(false);
    }
  });

  it('gives up after its time and lets the others go on', async () => {
    const gate = new ExecutionGate();
    await gate.enter();
    await gate.enter();
    const alone = gate.becomeAlone(1);
    const claim = gate.enter();
    expect(await alone).toBe('busy');
    await claim;
    expect(gate.clearing).toBe(false);
  });
});
