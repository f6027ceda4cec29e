import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { InputError } from '../input/input-error.ts';
import { type ByteSource, joinedSource } from './byte-source.ts';
import { partPaths } from './file-parts.ts';

/** Opens `path`, calls `use` with its bytes, and closes it. @throws InputError if it isn't a readable file */
export function withFile<Result>(path: string, use: (source: ByteSource) => Result): Result {
  const { source, close } = openFile(path);
  try {
    return use(source);
  } finally {
    close();
  }
}

/** A file that stays open: another one that takes its path later is not read in its place. */
export interface OpenFile {
  readonly source: ByteSource;
  close(): void;
}

/**
 * Opens `path`, and the other parts of a model if it is named as the first of several; the caller closes it.
 * @throws InputError if it isn't a readable file, or a part is missing
 */
export function openFile(path: string): OpenFile {
  const paths = partPaths(path);
  if (paths.length === 1) return openOne(path);
  const opened: OpenFile[] = [];
  const close = (): void => {
    for (const file of opened) file.close();
  };
  try {
    for (const [index, part] of paths.entries()) {
      if (!existsSync(part))
        throw new InputError(
          part,
          `there is no such file; it is part ${index + 1} of ${paths.length}, and all parts must be in one folder`,
        );
      opened.push(openOne(part));
    }
  } catch (error) {
    close();
    throw error;
  }
  const sources = opened.map(({ source }) => source);
  return { source: joinedSource(path, sources), close };
}

function openOne(path: string): OpenFile {
  const descriptor = open(path);
  const close = (): void => closeSync(descriptor);
  const status = fstatSync(descriptor);
  if (status.isFile()) return { source: descriptorSource(path, descriptor, status.size), close };
  close();
  throw new InputError(path, 'is not a regular file; give the path of a GGUF file');
}

/** A source over an open file descriptor, which the caller closes. */
export function descriptorSource(name: string, descriptor: number, size: number): ByteSource {
  return {
    name,
    size,
    read(offset, length) {
      const bytes = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        const count = readSync(descriptor, bytes, filled, length - filled, offset + filled);
        if (count === 0)
          throw new InputError(name, `ended at byte ${offset + filled} while it was being read; did it shrink?`);
        filled += count;
      }
      return bytes;
    },
  };
}

function open(path: string): number {
  try {
    // A pipe without a writer would block; what isn't a regular file is refused once it is open.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const reason =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EACCES'
          ? 'can’t be read: permission denied'
          : `can’t be read (${String(code ?? error)})`;
    throw new InputError(path, `${reason}; give the path of a GGUF file`);
  }
}
