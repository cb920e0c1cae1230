import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jobsActor, parseRunContext, readRunContext, type RunContext } from './run-context.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const actor = { kind: 'user', id: 'u-1', label: 'Ann Lee', orgId: 'o-1' } as const;
const whole: RunContext = { requestId: 'r-1', traceparent, tracestate: 'vendor=1', actor };

describe('parseRunContext', () => {
  it('takes a whole context as it is', () => {
    expect(parseRunContext(whole)).toEqual(whole);
  });

  it('takes an empty one', () => {
    expect(JSON.stringify(parseRunContext({}))).toBe('{}');
  });

  it('leaves permissions and everything else it does not know out, at every depth', () => {
    const given = {
      ...whole,
      permissions: ['ops.admin'],
      baggage: 'user=ann',
      actor: { ...actor, permissions: ['ops.admin'], role: 'admin', email: 'ann@example.org' },
    };
    expect(parseRunContext(given)).toEqual(whole);
  });

  it('knows an actor of no organisation', () => {
    const { orgId: _, ...person } = actor;
    expect(parseRunContext({ actor: person }).actor).toEqual({ ...actor, orgId: null });
  });

  it.each([
    '',
    'x',
    traceparent.toUpperCase(),
    `${traceparent}-00`,
    traceparent.replace(/^00/, 'ff'),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
  ])('leaves out the traceparent %j, which is none', (wrong) => {
    expect(parseRunContext({ ...whole, traceparent: wrong }).traceparent).toBeUndefined();
  });

  it.each(['', 'é', 'x'.repeat(513), 'a\nb'])('leaves out the tracestate %j', (tracestate) => {
    expect(parseRunContext({ ...whole, tracestate }).tracestate).toBeUndefined();
  });

  it.each([
    { requestId: '' },
    { requestId: 'x'.repeat(201) },
    { requestId: 'a\0b' },
    { actor: { ...actor, kind: 'root' } },
    { actor: { ...actor, id: '' } },
    { actor: { ...actor, label: 'half a pair \ud83d' } },
    { actor: { ...actor, orgId: '' } },
  ])('refuses %j', (wrong) => {
    expect(() => parseRunContext({ ...whole, ...wrong } as RunContext)).toThrow(TypeError);
  });
});

describe('readRunContext', () => {
  it('reads what was stored', () => {
    const stored: unknown = JSON.parse(JSON.stringify(parseRunContext(whole)));
    expect(readRunContext(stored)).toEqual(whole);
  });

  it('reads what is valid of it', () => {
    expect(readRunContext({ ...whole, actor: { kind: 'root' }, requestId: 7 })).toEqual({
      traceparent,
      tracestate: 'vendor=1',
    });
  });

  it('never fails', () => {
    fc.assert(fc.property(fc.jsonValue(), (any) => typeof readRunContext(any) === 'object'));
  });
});

describe('jobsActor', () => {
  it('is Millrace in the organisation of whoever it acts for', () => {
    const millrace = { kind: 'system', id: 'jobs', label: 'system:jobs' };
    expect(jobsActor(actor)).toEqual({ ...millrace, orgId: 'o-1' });
    expect(jobsActor(null)).toEqual({ ...millrace, orgId: null });
  });
});
