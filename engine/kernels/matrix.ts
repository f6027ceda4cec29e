import type { Quantization } from '../model/quantization.ts';

/** A weight matrix known to the kernels: contiguous rows, each a whole number of blocks of its format. */
export interface Matrix {
  readonly id: number;
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}

/** A file mapped into memory, whose bytes kernels read in place. */
export interface MappedFile {
  readonly id: number;
  readonly path: string;
  /** In bytes. */
  readonly size: number;
}

/** Where a matrix is: at `offset` (default 0) of a mapped file, or of bytes that the caller doesn't change. */
export interface MatrixSource {
  readonly source: MappedFile | Uint8Array;
  readonly offset?: number;
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}
