import type { ByteSource } from './byte-source.ts';
import { GgufError } from './gguf-error.ts';
import { GGUF_LIMITS } from './limits.ts';
import { type BigType, type NumberType, VALUE_BYTES } from './metadata-value.ts';

/** Reads a header from its beginning. Lengths are checked against the file's size and the limits before reading. */
export interface Cursor {
  /** Offset of the byte that is read next. */
  readonly position: number;
  number(type: NumberType, what: string): number;
  big(type: BigType, what: string): bigint;
  /** Reads an unsigned 64-bit number, which must be at most `limit`. */
  count(what: string, limit: number): number;
  /** Reads a length, then so many bytes of UTF-8. */
  text(what: string, limit: number): string;
  /** The same `count` times. */
  texts(count: number, what: string, limit: number): string[];
  bytes(length: number, what: string): Uint8Array;
  /** Throws a GgufError. @param offset byte at which the mistake is; default: the current position */
  fail(problem: string, offset?: number): never;
}

/** Bytes read from the source at once: more than a header without a vocabulary, and little memory. */
const BUFFER_BYTES = 2 ** 18;

/** @throws GgufError from every method if the file ends too early or its contents are invalid */
export function createCursor(source: ByteSource): Cursor {
  const end = Math.min(source.size, GGUF_LIMITS.headerBytes);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let buffer: Uint8Array = new Uint8Array(0);
  let view = new DataView(buffer.buffer);
  let bufferStart = 0;
  let position = 0;

  const fail = (problem: string, offset = position): never => {
    throw new GgufError(source.name, offset, problem);
  };

  /** Advances by `length` bytes, reading them if necessary. @returns where they begin in the buffer */
  const take = (length: number, what: string): number => {
    if (length > end - position) {
      if (end < source.size) fail(`${what} reaches beyond ${end} bytes, the longest header supported`);
      fail(`${what} needs ${length} bytes, but the file ends at byte ${source.size}; it is truncated or malformed`);
    }
    if (position + length > bufferStart + buffer.length) {
      buffer = source.read(position, Math.min(end - position, Math.max(length, BUFFER_BYTES)));
      view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
      bufferStart = position;
    }
    const at = position - bufferStart;
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
    return buffer.subarray(at, at + length);
  };

  const text = (what: string, limit: number): string => {
    const length = count(`the length of ${what}`, limit);
    const start = position;
    try {
      return decoder.decode(bytes(length, what));
    } catch (error) {
      if (error instanceof GgufError) throw error;
      return fail(`${what} is not UTF-8`, start);
    }
  };

  /**
   * As many texts as are whole in the buffer, and valid: a vocabulary has hundreds of thousands, each of which would take
   * half a microsecond by itself. With zeros in place of their lengths they are one text, of which each is a slice.
   */
  const bufferedTexts = (most: number, limit: number): string[] => {
    const first = position - bufferStart;
    const ends: number[] = [];
    for (let at = first; ends.length < most && at + 8 <= buffer.length; ) {
      const length = view.getUint32(at, true);
      at += 8 + length;
      if (view.getUint32(at - length - 4, true) !== 0 || length > limit || at > buffer.length) break;
      ends.push(at);
    }
    const run = new Uint8Array(buffer.subarray(first, ends.at(-1) ?? first));
    let begin = 0;
    for (const end of ends) {
      run.fill(0, begin, begin + 8);
      begin = end - first;
    }
    let all: string;
    try {
      all = decoder.decode(run);
    } catch {
      return [];
    }
    position += run.length;
    let [at, unit] = [0, 0];
    return ends.map((end) => {
      at += 8;
      unit += 8;
      const from = unit;
      // A character has one unit of UTF-16, or two if it takes four bytes of UTF-8.
      for (; at < end - first; at++) {
        const byte = run[at] as number;
        if ((byte & 0xc0) !== 0x80) unit += byte >= 0xf0 ? 2 : 1;
      }
      return all.slice(from, unit);
    });
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
    text,
    texts(number, what, limit) {
      const found: string[] = [];
      while (found.length < number) {
        // Reads on, or fails.
        found.push(text(what, limit));
        for (const one of bufferedTexts(number - found.length, limit)) found.push(one);
      }
      return found;
    },
    bytes,
    fail,
  };
}
