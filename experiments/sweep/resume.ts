import { copyFileSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeOutputFolder } from '../../commands/output-file.ts';
import { temporaryPath } from '../../engine/files/temporary-file.ts';
import { InputError } from '../../engine/input/input-error.ts';

/** Result files of sweeps. */
const POINTS = /^points.*\.jsonl$/;

/**
 * Carries out --resume: copies the result file `name` of a sweep that was begun elsewhere to the folder of the results,
 * unless there is as much already.
 * @throws InputError if the folder has no such file: what is in it belongs to other inputs or another version
 */
export function takeResults(folder: string | undefined, name: string, out: string): void {
  if (folder === undefined) return;
  const [source, target] = [join(folder, name), join(out, name)];
  if (!existsSync(source)) {
    const found = existsSync(folder) ? readdirSync(folder).filter((file) => POINTS.test(file)) : [];
    const others = `${found.join(', ')} ${found.length === 1 ? 'is' : 'are'} of other inputs, or of another version of code or data`;
    throw new InputError(
      '--resume',
      `${folder} has no ${name}, the points of this sweep${found.length === 0 ? '' : `; ${others}`}; leave it out to start over`,
    );
  }
  makeOutputFolder('--out', out);
  if (existsSync(target) && statSync(target).size >= statSync(source).size) return;
  const beside = temporaryPath(target);
  copyFileSync(source, beside);
  renameSync(beside, target);
}
