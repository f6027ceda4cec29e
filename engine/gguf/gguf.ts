import type { Quantization } from '../model/quantization.ts';
import type { Metadata } from './metadata-value.ts';

/** The header of a GGUF file: all but the weights. */
export interface Gguf {
  /** Name of the file, for messages. */
  readonly file: string;
  /** 2 or 3: the same layout; 3 also exists in big endian, which is not read. */
  readonly version: number;
  readonly metadata: Metadata;
  /** In the order of the file's list, which need not be that of their data. */
  readonly tensors: readonly GgufTensor[];
  /** Tensors begin at multiples of this many bytes, counted from `dataOffset`. */
  readonly alignment: number;
  /** Byte of the file at which the data of the tensors begin. */
  readonly dataOffset: number;
  /** Bytes of the whole file. */
  readonly fileBytes: number;
}

/** Where a tensor lies and what it holds. */
export interface GgufTensor {
  readonly name: string;
  /**
   * Dimensions in ggml's order: the first varies fastest. A matrix that maps `columns` values to `rows` values has
   * shape [columns, rows], and its rows lie one after the other, each in whole blocks.
   */
  readonly shape: readonly number[];
  readonly type: Quantization;
  /** First byte, counted from the beginning of the file. */
  readonly offset: number;
  readonly bytes: number;
}
