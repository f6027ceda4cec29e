import { readFileSync } from 'node:fs';
import { InputError } from '../engine/input/input-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; give a file',
  EACCES: 'can’t be read: permission is denied',
};

/** The text in a file. @throws InputError where it can't be read or is not UTF-8 */
export function readTextFile(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new InputError(path, 'is not UTF-8');
    throw new InputError(path, REASONS[code] ?? `can’t be read (${code})`);
  }
}
