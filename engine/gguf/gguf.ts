import type { Quantization } from '../model/quantization.ts';
import type { MetadataFields } from './metadata-fields.ts';
import type { Metadata } from './metadata-value.ts';

/** The header of a GGUF file: everything except the weights. */
export interface Gguf {
  /** Name of the file, for messages. */
  readonly file: string;
  /** 2 or 3. Both have the same layout; version 3 also exists in big endian, which isn't supported. */
  readonly version: number;
  readonly metadata: Metadata;
  /** The metadata by key, with errors that name the file. */
  readonly fields: MetadataFields;
  /** In the order of the file's list, which may differ from that of their data. */
  readonly tensors: readonly GgufTensor[];
  /** Tensors begin at multiples of this many bytes, counted from `dataOffset`. */
  readonly alignment: number;
  /** Offset in the file at which the tensors' data begin. */
  readonly dataOffset: number;
  /** Size of the whole file in bytes; of several, with what lies between them (file-parts.ts). */
  readonly fileBytes: number;
}

/** Location of a tensor's data in the file, with shape and format. */
export interface GgufTensor {
  readonly name: string;
  /**
   * Dimensions in ggml's order: the first varies fastest. A matrix that maps `columns` values to `rows` values has
   * shape [columns, rows]; its rows are contiguous, each a whole number of blocks.
   */
  readonly shape: readonly number[];
  readonly type: Quantization;
  /** Offset of the first byte from the beginning of the file. */
  readonly offset: number;
  readonly bytes: number;
}
