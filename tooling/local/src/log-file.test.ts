import { describe, expect, it } from 'vitest';

import { summarise } from './log-file.ts';

describe('summarise', () => {
  it('tells of warnings and errors, with their cause', () => {
    expect(summarise('{"level":40,"msg":"slow"}')).toBe('warning: slow');
    expect(summarise('{"level":50,"msg":"lost","err":{"message":"gone"}}')).toBe(
      'error: lost: gone',
    );
    expect(summarise(' ⨯ Failed to start server')).toBe('⨯ Failed to start server');
    expect(summarise('millrace: The environment is not valid')).toBe(
      'millrace: The environment is not valid',
    );
  });

  it.each([
    '{"level":30,"msg":"worker ready"}',
    '✓ Ready in 100ms',
    '{"level":',
    '',
    'GET /errors 200',
  ])('leaves %j to the log', (line) => {
    expect(summarise(line)).toBeNull();
  });
});
