import type { FilePages, PagesOptions } from './file-pages.ts';
import type { CacheFile, CachePlace, KeyValueCache, KeyValueCacheShape } from './key-value-cache.ts';
import type { MappedFile, Matrix, MatrixSource, MatrixStreaming } from './matrix.ts';
import type { Operation } from './operation.ts';
import type { Vector } from './vector.ts';

/**
 * The arithmetic of a transformer, in three implementations with the same meaning: `native` (C++, threads, vector
 * instructions), `webgpu` (shaders on a GPU) and `reference` (plain TypeScript, float64 sums, slow). All multiply
 * quantized weights in the file's own format; `native` rounds activations to bytes, to 15 bits or to bfloat16, and
 * the factors of attention to 16 bits (KernelOptions); `webgpu` to bytes or not at all, and `reference` rounds nothing.
 *
 * A GPU has memory of its own: what the host writes to a vector's values goes there by `write`, and results come back
 * by `read`. On a CPU both do nothing.
 *
 * Files, matrices, vectors and caches belong to the kernels that created them and live until `close`: create them once.
 */
export interface Kernels {
  readonly name: 'native' | 'webgpu' | 'reference';
  /**
   * The instruction set used: "amx", "amxint8", "avx512bf16", "avx512", "avxvnni", "avx2", "neon", "scalar", or "none" for
   * the others.
   */
  readonly instructionSet: string;
  readonly threads: number;

  /** Maps a file of weights without reading it. @throws InputError if it can't be mapped */
  mapFile(path: string): MappedFile;
  /** The pages of a mapped file; undefined for kernels that read matrices into memory of their own. */
  pages(file: MappedFile, options?: PagesOptions): FilePages | undefined;
  /** @throws RangeError if the matrix reaches beyond its source or isn't whole blocks */
  matrix(source: MatrixSource): Matrix;
  /** Missing where matrices are read in RAM. */
  readonly streaming?: MatrixStreaming;
  /** A vector of zeros, or of the given values. @throws InputError if there isn't enough memory, as `cache` does */
  vector(contents: number | ArrayLike<number>): Vector;
  /**
   * A vector over values that other threads see as well. Missing where the processor has memory of its own.
   * @throws RangeError if they don't lie in a SharedArrayBuffer
   */
  readonly sharedVector?: (values: Float32Array) => Vector;
  /** A cache of keys and values, empty. */
  cache(shape: KeyValueCacheShape): KeyValueCache;
  /**
   * A place for caches of the same shape as this one: a file; on a GPU, memory in RAM and then a file.
   * @throws InputError if the file can't be created
   */
  cacheFile(place: CachePlace, shape: KeyValueCache): CacheFile;
  /** Copies all positions of a cache to another of the same shape, after the operations so far. */
  copyCache(from: KeyValueCache, to: KeyValueCache): void;
  /** Frees a cache before `close` does; it must not be used afterwards. */
  freeCache(cache: KeyValueCache): void;
  /**
   * Performs the operations in order; on a CPU the results are in the vectors when it returns. It is fastest to pass
   * all operations of a token in one call: threads then proceed from one operation to the next by themselves.
   * @throws RangeError, before anything is computed, if shapes don't fit
   */
  run(operations: readonly Operation[]): void;
  /**
   * Prepares operations that will run many times: checking and encoding them takes as long as computing a token of a
   * small model. Missing if nothing is gained.
   * @throws RangeError as `run` does, and for attention to pages
   */
  readonly prepare?: (operations: readonly Operation[]) => PreparedOperations;
  /** Makes values that the host has written known to the operations that follow. */
  write(vector: Vector): void;
  /**
   * Brings the results of the operations so far into the vector's values; undefined where they are there already.
   * @throws InputError if the GPU is lost or has too little memory
   */
  read(vector: Vector): Promise<void> | undefined;
  /** Opens kernels of the same kind with their own memory, which the caller closes; missing if files aren't mapped. */
  readonly again?: () => Kernels;
  /** Ends the threads and frees matrices, mappings and caches; `run` must not be called afterwards. */
  close(): void;
}

/** Operations that run on other tokens and at another position each time. They end with the caches that they use. */
export interface PreparedOperations {
  /**
   * Performs them as `run` does, with these tokens in every `embed`, as many as it was prepared with, and from this
   * position on in every `store` and `attention`.
   * @throws RangeError, before anything is computed, if they don't fit
   */
  run(tokens: readonly number[], position: number): void;
  /**
   * Performs operations that were prepared with one token as `run` does: for each of some tokens, and then for the
   * likeliest one after the last, and so on, in one call. Missing where results come later.
   * @throws RangeError as `run` does
   */
  readonly writeGreedily?: (text: PreparedText) => GreedyText;
}

/** Conditions under which a text is continued with the likeliest token. */
export interface GreedyOptions {
  /** The most tokens, at least one. */
  readonly most: number;
  /** A token follows if its logit is ahead of the next one by at least this. */
  readonly leastLead: number;
  /** Tokens after which none follows. */
  readonly ends: ReadonlySet<number>;
}

export interface PreparedText extends GreedyOptions {
  /** Tokens that are evaluated first, at least one. */
  readonly known: readonly number[];
  /** Position of the first of them. */
  readonly position: number;
  /** Rotary angles of each position: [known.length + most − 1][dimensions/2][cosine, sine]. */
  readonly angles: Float32Array;
  /** Vector in which the operations find the angles of their token. */
  readonly passAngles: Vector;
  /** Logits that the operations compute. */
  readonly logits: Vector;
}

/** Tokens written by always taking the most likely one. */
export interface GreedyText {
  readonly tokens: readonly number[];
  /** Tokens that were evaluated: the known ones, and those that were written, all or without the last. */
  readonly passes: number;
}
