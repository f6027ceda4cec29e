import { existsSync, readdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isRunning } from './process-mark.ts';

/** The machine's name in characters that every file system takes. */
const HOST = hostname().replaceAll(/[^\w-]/g, '-');

/**
 * The name of a file while this process writes it: `PATH.HOST.PID.tmp`, next to the file, so that a rename replaces the
 * file at once. Temporary files of the same path that processes of this machine left when they were killed are removed.
 */
export function temporaryPath(path: string): string {
  removeAbandoned(path);
  return `${path}.${HOST}.${process.pid}.tmp`;
}

function removeAbandoned(path: string): void {
  const [folder, begin] = [dirname(path), `${basename(path)}.${HOST}.`];
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(begin)) continue;
    const [, pid] = /^(\d+)\.tmp$/.exec(name.slice(begin.length)) ?? [];
    if (pid !== undefined && !isRunning({ host: hostname(), pid: Number(pid) }))
      rmSync(join(folder, name), { force: true });
  }
}
