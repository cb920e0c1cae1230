import { join } from 'node:path';

import { REPOSITORY } from './repository.ts';
import type { Command } from './run-command.ts';

/** Builds apps/web for production, or takes the result from turbo's cache. */
export function buildWeb(env: NodeJS.ProcessEnv, signal: AbortSignal): Command {
  return {
    name: 'web build',
    file: join(REPOSITORY, 'node_modules', '.bin', 'turbo'),
    args: ['run', 'build', '--filter=@millrace/web', '--env-mode=loose', '--ui=stream'],
    cwd: REPOSITORY,
    env,
    signal,
  };
}
