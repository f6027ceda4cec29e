import type { Quantization } from '../model/quantization.ts';

/** A weight matrix that kernels know: rows one after another, each a whole number of blocks of its format. */
export interface Matrix {
  readonly id: number;
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}

/** A file whose bytes kernels read where they lie. */
export interface MappedFile {
  readonly id: number;
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

/** Where a matrix lies: from `offset` on (default 0) in a mapped file, or in bytes that stay untouched. */
export interface MatrixSource {
  readonly source: MappedFile | Uint8Array;
  readonly offset?: number;
  readonly type: Quantization;
  readonly rows: number;
  readonly columns: number;
}
