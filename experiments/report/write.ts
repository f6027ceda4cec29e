import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkOutputPath } from '../../commands/output-file.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { writingProblem } from '../../engine/input/system-error.ts';

/**
 * Checks before a long run that its results can be written to `directory`; creates nothing.
 * @throws InputError if the directory, or the nearest one above it that exists, is a file or not writable
 */
export function checkOutput(directory: string, flag = '--out'): void {
  checkOutputPath(flag, directory, 'name a directory');
  let path = directory;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  const where = `${flag} ${directory}`;
  if (!statSync(path).isDirectory()) throw new InputError(where, `"${path}" is a file; name a directory`);
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch {
    throw new InputError(where, `"${path}" can’t be written to: permission denied; name another directory`);
  }
}

/**
 * Writes a set of files together or not at all: everything is written to temporary files next to the targets before the
 * first is renamed. If that fails nothing is left of the attempt, and files of an earlier run stay as they were.
 * @param files contents by path relative to `directory`, which is made if it doesn't exist
 * @throws InputError naming the path
 */
export function writeFiles(directory: string, files: ReadonlyMap<string, string | Uint8Array>, flag = '--out'): void {
  checkOutput(directory, flag);
  const made: string[] = [];
  const temporary = new Map<string, string>();
  try {
    for (const [name, text] of files) {
      const target = join(directory, name);
      for (const path of missingDirectories(dirname(target))) {
        mkdirSync(path);
        made.push(path);
      }
      if (existsSync(target) && statSync(target).isDirectory())
        throw new InputError(`${flag} ${directory}`, `"${target}" is a directory; a file is to be written there`);
      const beside = temporaryPath(target);
      temporary.set(beside, target);
      writeFileSync(beside, text, { flag: 'wx' });
    }
    for (const [beside, target] of temporary) renameSync(beside, target);
  } catch (error) {
    for (const beside of temporary.keys()) rmSync(beside, { force: true });
    for (const path of made.reverse()) rmSync(path, { recursive: true, force: true });
    if (error instanceof InputError) throw error;
    throw new InputError(`${flag} ${directory}`, writingProblem(error));
  }
}

/** `path` and the directories above it that don't exist yet, outermost first. Node's own recursion never ends in /proc. */
function missingDirectories(path: string): string[] {
  if (existsSync(path) || dirname(path) === path) return [];
  return [...missingDirectories(dirname(path)), path];
}
