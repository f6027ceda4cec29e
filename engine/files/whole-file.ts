import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { InputError } from '../input/input-error.ts';
import { writingProblem } from '../input/system-error.ts';
import { temporaryPath } from './temporary-file.ts';

/**
 * Writes a file piece by piece under a temporary name. It gets its own only once it is complete; if writing fails, or a
 * piece can't be had, what was written is removed.
 * @throws InputError if it can't be written
 */
export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const unfinished = temporaryPath(path);
  const descriptor = inFile(path, () => openSync(unfinished, 'wx'));
  try {
    for await (const piece of pieces) inFile(path, () => writeAll(descriptor, piece));
  } catch (error) {
    closeSync(descriptor);
    rmSync(unfinished, { force: true });
    throw error;
  }
  closeSync(descriptor);
  inFile(path, () => renameSync(unfinished, path));
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}

/** Turns an error of the operating system into one for people. */
function inFile<Result>(path: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such folder; create it first',
      EISDIR: 'is a folder; give the path of a file',
    };
    throw new InputError(path, reasons[code] ?? writingProblem(error));
  }
}
