import { readFileSync, statSync } from 'node:fs';
import { InputError } from '../engine/input/input-error.ts';

/** Clusters, models, plans and published results take kilobytes; a larger file was probably given by mistake. */
const LARGEST_BYTES = 5e6;

/**
 * The text of a small input file.
 * @param allowed what to give instead, for the message about a missing file
 * @throws InputError if there is no such file, it can't be read, or has more than 5 MB
 */
export function readText(path: string, allowed: string): string {
  try {
    const { size } = statSync(path);
    if (size > LARGEST_BYTES) {
      throw new InputError(path, `has ${(size / 1e6).toFixed(1)} MB; at most 5 MB are read, is it the right file?`);
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, `${reasonOf(error)}; ${allowed}`);
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'is a directory, a file is needed';
  if (code === 'EACCES') return 'can’t be read: permission denied';
  return `can’t be read (${String(code ?? error)})`;
}
