import type { FilePages } from './file-pages.ts';
import type { CacheFile, KeyValueCache, KeyValueCacheShape } from './key-value-cache.ts';
import type { MappedFile, Matrix, MatrixSource } from './matrix.ts';
import type { Operation } from './operation.ts';
import type { Vector } from './vector.ts';

/**
 * The arithmetic of a transformer, in one of two implementations with the same meaning: `native` (C++, threads, vector
 * instructions) and `reference` (plain TypeScript, float64 sums, slow). Both multiply quantized weights as they lie in
 * the file; `native` rounds the other factor to 15 bits, or both to bfloat16, where that is faster; `reference` rounds
 * neither.
 *
 * Files, matrices, vectors and caches belong to the kernels that made them and live until `close`: make them once.
 */
export interface Kernels {
  readonly name: 'native' | 'reference';
  /** What multiplies: "amx", "avx512bf16", "avx512", "avx2", "neon", "scalar", or "none" for the reference. */
  readonly instructionSet: string;
  readonly threads: number;

  /** Maps a file of weights, without reading it. @throws InputError if it can't be mapped */
  mapFile(path: string): MappedFile;
  /** What is in memory of a mapped file; undefined of the reference, which reads matrices into memory of its own. */
  pages(file: MappedFile): FilePages | undefined;
  /** @throws RangeError where the matrix reaches beyond its source or isn't whole blocks */
  matrix(source: MatrixSource): Matrix;
  /** Zeros, or a copy of the given values. @throws InputError where there is no memory for it, as for a cache */
  vector(contents: number | ArrayLike<number>): Vector;
  cache(shape: KeyValueCacheShape): KeyValueCache;
  /**
   * A file for caches that have the shape of this one.
   * @throws InputError where none can be made in the folder
   */
  cacheFile(folder: string, shape: KeyValueCache): CacheFile;
  /** Frees a cache before `close` does; it may not be used afterwards. */
  freeCache(cache: KeyValueCache): void;
  /**
   * Does the operations one after another; results are in the vectors when it returns. The whole step of a token in one
   * call is fastest: threads then go from operation to operation by themselves.
   * @throws RangeError, before anything is done, where shapes don't fit
   */
  run(operations: readonly Operation[]): void;
  /** Ends the threads and frees matrices, mappings and caches; nothing may be run afterwards. */
  close(): void;
}
