/** `pnpm gen job <Name> [options]`: docs/define-a-job.md. */
import { join } from 'node:path';

import { runCli } from './cli.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  root: join(import.meta.dirname, '..', '..', '..'),
  print: (text) => void process.stdout.write(text),
  complain: (line) => void process.stderr.write(`${line}\n`),
  terminal:
    process.stdin.isTTY && process.stdout.isTTY
      ? { input: process.stdin, output: process.stdout }
      : null,
});
