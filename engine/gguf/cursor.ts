import type { ByteSource } from './byte-source.ts';
import { GgufError } from './gguf-error.ts';
import { GGUF_LIMITS } from './limits.ts';
import { type BigType, type NumberType, VALUE_BYTES } from './metadata-value.ts';

/** Reads a header from its beginning. Whatever it returns lies within the file; lengths are checked before reading. */
export interface Cursor {
  /** Byte that is read next. */
  readonly position: number;
  number(type: NumberType, what: string): number;
  big(type: BigType, what: string): bigint;
  /** An unsigned 64-bit number that must be at most `limit`. */
  count(what: string, limit: number): number;
  /** A length and as many bytes of UTF-8. */
  text(what: string, limit: number): string;
  bytes(length: number, what: string): Uint8Array;
  /** @param offset byte of the mistake; the current position unless given */
  fail(problem: string, offset?: number): never;
}

/** Bytes read from the source at once: large beside a header without vocabulary, small beside memory. */
const WINDOW_BYTES = 2 ** 18;

/** @throws GgufError from every method, where the file ends too early or holds what it must not */
export function createCursor(source: ByteSource): Cursor {
  const end = Math.min(source.size, GGUF_LIMITS.headerBytes);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let window: Uint8Array = new Uint8Array(0);
  let view = new DataView(window.buffer);
  let windowStart = 0;
  let position = 0;

  const fail = (problem: string, offset = position): never => {
    throw new GgufError(source.name, offset, problem);
  };

  /** Where the next `length` bytes begin in the window; they are read if they aren't there. */
  const take = (length: number, what: string): number => {
    if (length > end - position) {
      if (end < source.size) fail(`${what} reaches beyond ${end} bytes, the longest header that is read`);
      fail(`${what} needs ${length} bytes, but the file ends at byte ${source.size}; it is truncated or malformed`);
    }
    if (position + length > windowStart + window.length) {
      window = source.read(position, Math.min(end - position, Math.max(length, WINDOW_BYTES)));
      view = new DataView(window.buffer, window.byteOffset, window.byteLength);
      windowStart = position;
    }
    const at = position - windowStart;
    position += length;
    return at;
  };

  const big = (type: BigType, what: string): bigint => {
    const at = take(8, what);
    return type === 'uint64' ? view.getBigUint64(at, true) : view.getBigInt64(at, true);
  };

  const count = (what: string, limit: number): number => {
    const at = position;
    const value = big('uint64', what);
    if (value > limit) fail(`${what} is ${value}; at most ${limit} is allowed`, at);
    return Number(value);
  };

  const bytes = (length: number, what: string): Uint8Array => {
    const at = take(length, what);
    return window.subarray(at, at + length);
  };

  return {
    get position() {
      return position;
    },
    number(type, what) {
      const at = take(VALUE_BYTES[type], what);
      switch (type) {
        case 'uint8':
          return view.getUint8(at);
        case 'int8':
          return view.getInt8(at);
        case 'uint16':
          return view.getUint16(at, true);
        case 'int16':
          return view.getInt16(at, true);
        case 'uint32':
          return view.getUint32(at, true);
        case 'int32':
          return view.getInt32(at, true);
        case 'float32':
          return view.getFloat32(at, true);
        case 'float64':
          return view.getFloat64(at, true);
      }
    },
    big,
    count,
    text(what, limit) {
      const length = count(`the length of ${what}`, limit);
      const start = position;
      try {
        return decoder.decode(bytes(length, what));
      } catch (error) {
        if (error instanceof GgufError) throw error;
        return fail(`${what} is not UTF-8`, start);
      }
    },
    bytes,
    fail,
  };
}
