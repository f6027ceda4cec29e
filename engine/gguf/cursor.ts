import type { ByteSource } from './byte-source.ts';
import { GgufError } from './gguf-error.ts';
import { GGUF_LIMITS } from './limits.ts';
import { type BigType, type NumberType, VALUE_BYTES } from './metadata-value.ts';
import { PackedTexts } from './text-list.ts';
import { isUtf8 } from './utf8.ts';

/** Reads a header from its beginning. Lengths are checked against the file's size and the limits before reading. */
export interface Cursor {
  /** Offset of the byte that is read next. */
  readonly position: number;
  number(type: NumberType, what: string): number;
  big(type: BigType, what: string): bigint;
  /** Reads an unsigned 64-bit number, which must be at most `limit`. */
  count(what: string, limit: number): number;
  /** Reads a length, then this many bytes of UTF-8. */
  text(what: string, limit: number): string;
  /** The same `count` times. */
  texts(count: number, what: string, limit: number): PackedTexts;
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
  const encoder = new TextEncoder();
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
   * Reads up to `most` texts that are whole in the buffer, and valid: one by one, hundreds of thousands take long.
   * @param placed receives the beginning and end of each text, counted from the length of the first
   * @returns the bytes of the texts and their lengths
   */
  const bufferedTexts = (most: number, limit: number, placed: (from: number, to: number) => void): Uint8Array => {
    const first = position - bufferStart;
    let at = first;
    for (let found = 0; found < most && at + 8 <= buffer.length; found++) {
      const end = at + 8 + view.getUint32(at, true);
      if (view.getUint32(at + 4, true) !== 0 || end - at - 8 > limit || end > buffer.length) break;
      if (!isUtf8(buffer, at + 8, end)) break;
      placed(at + 8 - first, end - first);
      at = end;
    }
    position += at - first;
    return buffer.slice(first, at);
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
      // Each has a length of eight bytes, so that a file has no more, whatever it claims.
      const places = new Uint32Array(2 * Math.min(number, Math.floor((end - position) / 8)));
      const runs: Uint8Array[] = [];
      let [found, size] = [0, 0];
      const placed = (from: number, to: number): void => {
        places[2 * found] = size + from;
        places[2 * found + 1] = size + to;
        found++;
      };
      const keep = (run: Uint8Array): void => {
        runs.push(run);
        size += run.length;
      };
      while (found < number) {
        // Reads on, or fails.
        const one = encoder.encode(text(what, limit));
        placed(0, one.length);
        keep(one);
        keep(bufferedTexts(number - found, limit, placed));
      }
      const all = new Uint8Array(size);
      let at = 0;
      for (const run of runs) {
        all.set(run, at);
        at += run.length;
      }
      return new PackedTexts(all, places);
    },
    bytes,
    fail,
  };
}
