import type { TextList } from './text-list.ts';

/** Types of metadata values and their numbers in the file (GGUF specification, gguf_metadata_value_type). */
export const VALUE_TYPES = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const;

export type ValueType = keyof typeof VALUE_TYPES;
/** Types whose values are JavaScript numbers. */
export type NumberType = 'uint8' | 'int8' | 'uint16' | 'int16' | 'uint32' | 'int32' | 'float32' | 'float64';
/** Types of integers that a JavaScript number can't hold. */
export type BigType = 'uint64' | 'int64';

/** A typed value. Integers of 64 bits are bigints, so that no digits are lost. */
export type MetadataValue =
  | { readonly type: NumberType; readonly value: number }
  | { readonly type: BigType; readonly value: bigint }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'array'; readonly value: MetadataArray };

/** Values of one type, in order; bools are 0 and 1. No model uses arrays of arrays, which the specification allows. */
export type MetadataArray =
  | { readonly of: NumberType | 'bool'; readonly values: ArrayLike<number> }
  | { readonly of: BigType; readonly values: ArrayLike<bigint> }
  | { readonly of: 'string'; readonly values: TextList };

/** Metadata of a GGUF file by key, in the order of the file. */
export type Metadata = ReadonlyMap<string, MetadataValue>;

/** Bytes of one value, for the types of fixed size. */
export const VALUE_BYTES: Readonly<Record<Exclude<ValueType, 'string' | 'array'>, number>> = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bool: 1,
  uint64: 8,
  int64: 8,
  float64: 8,
};
