/**
 * `node --watch <arguments>` that ends with the process that started it: the watcher itself does not
 * notice when a supervisor was killed.
 */
import { spawn } from 'node:child_process';

const child = spawn(process.execPath, [...process.execArgv, '--watch', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
child.once('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => child.kill('SIGTERM'));
process.on('disconnect', () => child.kill('SIGTERM'));
