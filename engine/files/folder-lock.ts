import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../input/input-error.ts';
import { isRunning, ownMark, type ProcessMark } from './process-mark.ts';

/** The file in a locked folder: the mark of the process that writes to the folder. */
const LOCK_FILE = 'hearth.lock';

/**
 * Runs `write` while no other process can lock the folder. A lock whose process has ended is taken over.
 * @param flag the option that names the folder
 * @throws InputError if another process has locked the folder, or the lock can't be written
 */
export async function withLockedFolder<Result>(
  flag: string,
  folder: string,
  write: () => Promise<Result>,
): Promise<Result> {
  const release = lock(join(folder, LOCK_FILE), `${flag} ${folder}`);
  try {
    return await write();
  } finally {
    release();
  }
}

/**
 * Makes a lock file. One whose process has ended is replaced under a lock of its own: of two processes that find it, the
 * second must not replace the new lock of the first.
 * @returns removes it
 */
function lock(path: string, place: string): () => void {
  const own = JSON.stringify(ownMark());
  for (;;) {
    if (makeFile(path, own, place)) return () => rmSync(path, { force: true });
    const text = readIfThere(path);
    if (text === undefined) continue;
    const owner = parseMark(text);
    if (owner === undefined || isRunning(owner))
      throw new InputError(
        place,
        `is being written by ${nameOf(owner)}; wait for it, give another folder, or remove ${path} if no such process is left`,
      );
    const release = lock(`${path}.taken`, place);
    try {
      if (readIfThere(path) !== text) continue;
      writeFileSync(`${path}.new`, own);
      renameSync(`${path}.new`, path);
      return () => rmSync(path, { force: true });
    } finally {
      release();
    }
  }
}

/** @returns whether the file was made: `false` where there is one already */
function makeFile(path: string, text: string, place: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new InputError(place, `can’t be locked (${(error as Error).message}); give another folder`);
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** `undefined` for a file that its process is only just writing, or that something else wrote. */
function parseMark(text: string): ProcessMark | undefined {
  try {
    const { host, pid, start }: Partial<ProcessMark> = JSON.parse(text);
    if (typeof host !== 'string' || !Number.isSafeInteger(pid) || (pid as number) < 1) return undefined;
    return { host, pid: pid as number, ...(typeof start === 'string' && { start }) };
  } catch {
    return undefined;
  }
}

function nameOf(owner: ProcessMark | undefined): string {
  return owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`;
}
