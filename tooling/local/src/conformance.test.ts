import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { REPOSITORY } from './repository.ts';

const ROW = /^\| (?<rule>.+?) +\| `(?<file>[^`]+)` › (?<name>.+?) +\|$/;

function rows(): { rule: string; file: string; name: string }[] {
  return readFileSync(join(REPOSITORY, 'docs', 'conformance.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (rule|-+) /.test(line))
    .map((line) => {
      const { rule = '', file = '', name = '' } = ROW.exec(line)?.groups ?? {};
      return { rule, file, name: name.replaceAll('\\|', '|') };
    });
}

describe('docs/conformance.md', () => {
  it('has rows that can be read', () => {
    expect(rows().length).toBeGreaterThan(30);
    expect(rows().filter(({ file }) => file === '')).toEqual([]);
  });

  it.each(rows())('names a test that is there: $rule', ({ file, name }) => {
    const path = join(REPOSITORY, file);
    const source = existsSync(path) ? readFileSync(path, 'utf8') : 'no such file';
    const quoted = ["'", '`', '"'].map((quote) => `${quote}${name}${quote}`);
    expect(quoted.filter((title) => source.includes(title))).toHaveLength(1);
  });
});
