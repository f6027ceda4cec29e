import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { InputError } from '../../input/input-error.ts';
import { checkMatrix } from '../checks.ts';
import type { Kernels } from '../kernels.ts';
import type { CacheFile } from '../key-value-cache.ts';
import { type MappedFile, mapParts, placeInFile } from '../matrix.ts';
import { cacheFile } from './cache-file.ts';
import { kernelsInMemory } from './kernels-in-memory.ts';
import type { ReferenceMemory } from './memory.ts';

/**
 * Kernels in plain TypeScript: weights are dequantized by engine/gguf, sums are in float64, and each result is rounded
 * once to float32. A matrix of a file is read into memory when it is created.
 */
export function referenceKernels(): Kernels {
  const files: number[] = [];
  const memory: ReferenceMemory = { matrices: [], caches: [] };
  const cacheFiles: CacheFile[] = [];
  const inMemory = kernelsInMemory(memory);
  const mapOne = (path: string): MappedFile => {
    try {
      const status = statSync(path);
      if (!status.isFile()) throw new Error('is not a regular file');
      if (status.size === 0) throw new Error('is empty');
      const id = files.push(openSync(path, 'r')) - 1;
      return { id, path, size: status.size };
    } catch (error) {
      throw new InputError(path, (error as Error).message);
    }
  };
  return {
    ...inMemory,
    mapFile: (path) => mapParts(path, mapOne),
    matrix(matrix) {
      const { source, offset = 0 } = matrix;
      if (source instanceof Uint8Array) return inMemory.matrix(matrix);
      const place = placeInFile(source, offset);
      const bytes = readBytes(files[place.file.id] as number, place.offset, checkMatrix(matrix));
      return inMemory.matrix({ ...matrix, source: bytes, offset: 0 });
    },
    cacheFile({ folder }) {
      const file = cacheFile(memory, folder);
      cacheFiles.push(file);
      return file;
    },
    close() {
      for (const file of files.splice(0)) closeSync(file);
      for (const file of cacheFiles.splice(0)) file.close();
      inMemory.close();
    },
  };
}

/** Node reads at most 2 GiB at a time. */
const LARGEST_READ = 2 ** 30;

/** Reads a part of an open file. @throws Error if the file ends earlier */
function readBytes(file: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const read = readSync(file, bytes, done, Math.min(LARGEST_READ, length - done), offset + done);
    if (read === 0) throw new Error(`the file ends at byte ${offset + done}`);
    done += read;
  }
  return bytes;
}
