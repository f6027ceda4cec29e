import { InputError } from '../../input/input-error.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { checkCache, checkMatrix, checkOperation, sharedValues } from '../checks.ts';
import type { Kernels } from '../kernels.ts';
import { vectorOver } from '../vector.ts';
import type { ReferenceMemory } from './memory.ts';
import { perform } from './perform.ts';

/**
 * Reference kernels whose matrices are bytes that the caller has in memory; they need no file system and run in a
 * browser. `mapFile`, `cacheFile`, and matrices of mapped files throw InputError.
 * @param memory filled with matrices and caches, and emptied by `close`; the caller may read it between runs
 */
export function kernelsInMemory(memory: ReferenceMemory): Kernels {
  let vectors = 0;
  return {
    name: 'reference',
    instructionSet: 'none',
    threads: 1,
    mapFile: noFiles,
    pages: () => undefined,
    matrix(matrix) {
      const bytes = checkMatrix(matrix);
      const { source, offset = 0, type, rows, columns } = matrix;
      if (!(source instanceof Uint8Array)) return noFiles(source.path);
      const data = source.subarray(offset, offset + bytes);
      const id = memory.matrices.push({ bytes: data, rowBytes: quantizedBytes(columns, type) }) - 1;
      return { id, type, rows, columns };
    },
    vector(contents) {
      const values = typeof contents === 'number' ? new Float32Array(contents) : Float32Array.from(contents);
      return vectorOver(vectors++, values);
    },
    sharedVector: (values) => vectorOver(vectors++, sharedValues(values)),
    cache(shape) {
      checkCache(shape);
      const length = shape.kvHeads * shape.capacity * shape.headSize;
      const id = memory.caches.push({ keys: new Float32Array(length), values: new Float32Array(length) }) - 1;
      return { ...shape, id };
    },
    cacheFile: ({ folder }) => noFiles(folder),
    copyCache(from, to) {
      const { keys, values } = memory.caches[from.id] as ReferenceMemory['caches'][number];
      memory.caches[to.id]?.keys.set(keys);
      memory.caches[to.id]?.values.set(values);
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
      memory.matrices.length = 0;
      memory.caches.length = 0;
    },
  };
}

function noFiles(path: string): never {
  throw new InputError(path, 'kernels in memory open no files; give them bytes');
}
