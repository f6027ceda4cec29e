import { closeSync, openSync, statSync } from 'node:fs';
import { InputError } from '../../input/input-error.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { checkMatrix, checkOperation } from '../checks.ts';
import type { Kernels } from '../kernels.ts';
import type { CacheFile } from '../key-value-cache.ts';
import type { MappedFile } from '../matrix.ts';
import { vectorOver } from '../vector.ts';
import { cacheFile } from './cache-file.ts';
import { type ReferenceMemory, readBytes } from './memory.ts';
import { perform } from './perform.ts';

/**
 * Kernels in plain TypeScript: weights are dequantized by engine/gguf, sums are in float64, and each result is rounded
 * once to float32. A matrix of a file is read into memory when it is created.
 */
export function referenceKernels(): Kernels {
  const files: number[] = [];
  const memory: ReferenceMemory = { matrices: [], caches: [] };
  const cacheFiles: CacheFile[] = [];
  let vectors = 0;
  return {
    name: 'reference',
    instructionSet: 'none',
    threads: 1,
    mapFile(path) {
      try {
        const status = statSync(path);
        if (!status.isFile()) throw new Error('is not a regular file');
        if (status.size === 0) throw new Error('is empty');
        const id = files.push(openSync(path, 'r')) - 1;
        return { id, path, size: status.size };
      } catch (error) {
        throw new InputError(path, (error as Error).message);
      }
    },
    pages: () => undefined,
    matrix(matrix) {
      const bytes = checkMatrix(matrix);
      const { source, offset = 0, type, rows, columns } = matrix;
      const data =
        source instanceof Uint8Array
          ? source.subarray(offset, offset + bytes)
          : readBytes(files[(source as MappedFile).id] as number, offset, bytes);
      const id = memory.matrices.push({ bytes: data, rowBytes: quantizedBytes(columns, type) }) - 1;
      return { id, type, rows, columns };
    },
    vector(contents) {
      const values = typeof contents === 'number' ? new Float32Array(contents) : Float32Array.from(contents);
      return vectorOver(vectors++, values);
    },
    cache(shape) {
      const length = shape.kvHeads * shape.capacity * shape.headSize;
      const id = memory.caches.push({ keys: new Float32Array(length), values: new Float32Array(length) }) - 1;
      return { ...shape, id };
    },
    cacheFile(folder) {
      const file = cacheFile(memory, folder);
      cacheFiles.push(file);
      return file;
    },
    freeCache({ id }) {
      memory.caches[id] = { keys: new Float32Array(0), values: new Float32Array(0) };
    },
    run(operations) {
      for (const operation of operations) checkOperation(operation);
      for (const operation of operations) perform(memory, operation);
    },
    write() {},
    read: () => undefined,
    close() {
      for (const file of files.splice(0)) closeSync(file);
      for (const file of cacheFiles.splice(0)) file.close();
      memory.matrices.length = 0;
      memory.caches.length = 0;
    },
  };
}
