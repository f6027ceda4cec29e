import type { Cursor } from './cursor.ts';
import { quoted } from './gguf-error.ts';
import { GGUF_LIMITS } from './limits.ts';
import {
  type BigType,
  type Metadata,
  type MetadataArray,
  type MetadataValue,
  type NumberType,
  VALUE_BYTES,
  VALUE_TYPES,
  type ValueType,
} from './metadata-value.ts';

const TYPE_NAMES = new Map<number, ValueType>(
  Object.entries(VALUE_TYPES).map(([name, number]) => [number, name as ValueType]),
);

/**
 * Reads `entries` keys with their values.
 * @throws GgufError for unknown types, repeated keys and lengths beyond limits
 */
export function readMetadata(cursor: Cursor, entries: number): Metadata {
  const metadata = new Map<string, MetadataValue>();
  for (let entry = 0; entry < entries; entry++) {
    const at = cursor.position;
    const key = cursor.text(`the key of metadata entry ${entry + 1} of ${entries}`, GGUF_LIMITS.keyBytes);
    if (metadata.has(key)) cursor.fail(`metadata key ${quoted(key)} appears twice; keys are unique`, at);
    metadata.set(key, readValue(cursor, `metadata ${quoted(key)}`));
  }
  return metadata;
}

function readValue(cursor: Cursor, what: string): MetadataValue {
  const type = readType(cursor, what);
  switch (type) {
    case 'string':
      return { type, value: cursor.text(what, GGUF_LIMITS.stringBytes) };
    case 'array':
      return { type, value: readArray(cursor, what) };
    case 'bool':
      return { type, value: readBool(cursor, what) };
    case 'uint64':
    case 'int64':
      return { type, value: cursor.big(type, what) };
    default:
      return { type, value: cursor.number(type, what) };
  }
}

function readType(cursor: Cursor, what: string): ValueType {
  const at = cursor.position;
  const number = cursor.number('uint32', `the type of ${what}`);
  const type = TYPE_NAMES.get(number);
  return type ?? cursor.fail(`${what} has type ${number}; types 0 (uint8) to 12 (float64) exist`, at);
}

function readBool(cursor: Cursor, what: string): boolean {
  const at = cursor.position;
  const byte = cursor.number('uint8', what);
  if (byte > 1) cursor.fail(`${what} is a bool of ${byte}; 0 and 1 are allowed`, at);
  return byte === 1;
}

function readArray(cursor: Cursor, what: string): MetadataArray {
  const at = cursor.position;
  const of = readType(cursor, `the elements of ${what}`);
  const length = cursor.count(`the length of ${what}`, GGUF_LIMITS.arrayElements);
  switch (of) {
    case 'array':
      return cursor.fail(`${what} is an array of arrays; arrays of numbers, bools and strings are supported`, at);
    case 'string':
      return { of, values: cursor.texts(length, `a text of ${what}`, GGUF_LIMITS.stringBytes) };
    case 'bool': {
      const start = cursor.position;
      const values = new Uint8Array(copyBytes(cursor, length, what));
      const wrong = values.findIndex((byte) => byte > 1);
      if (wrong >= 0) cursor.fail(`${what} has a bool of ${values[wrong]}; 0 and 1 are allowed`, start + wrong);
      return { of, values };
    }
    case 'uint64':
    case 'int64':
      return { of, values: bigArray(of, copyBytes(cursor, length * 8, what)) };
    default:
      return { of, values: numberArray(of, copyBytes(cursor, length * VALUE_BYTES[of], what)) };
  }
}

/**
 * A copy that begins at byte 0 of its buffer, as typed arrays need. Every supported host is little endian, like the
 * file.
 */
function copyBytes(cursor: Cursor, length: number, what: string): ArrayBuffer {
  return cursor.bytes(length, what).slice().buffer as ArrayBuffer;
}

function bigArray(of: BigType, buffer: ArrayBuffer): ArrayLike<bigint> {
  return of === 'uint64' ? new BigUint64Array(buffer) : new BigInt64Array(buffer);
}

function numberArray(of: NumberType, buffer: ArrayBuffer): ArrayLike<number> {
  switch (of) {
    case 'uint8':
      return new Uint8Array(buffer);
    case 'int8':
      return new Int8Array(buffer);
    case 'uint16':
      return new Uint16Array(buffer);
    case 'int16':
      return new Int16Array(buffer);
    case 'uint32':
      return new Uint32Array(buffer);
    case 'int32':
      return new Int32Array(buffer);
    case 'float32':
      return new Float32Array(buffer);
    case 'float64':
      return new Float64Array(buffer);
  }
}
